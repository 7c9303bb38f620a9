package main

import "slices"

// rows is the whole table. Each subject has a file of its own.
func rows() []row {
	return slices.Concat(
		[]row(nil), // each line below is one file of rows
		redlockRows(),
		raftRows(),
		multiphaseRows(),
		linkRows(),
		workloadRows(),
	)
}

// servePeer runs this process as a subject's other process, if the arguments say
// so: a measurement between processes starts the bench program again. It returns
// false if this process is the bench itself.
func servePeer(args []string) bool {
	if len(args) < 2 || args[0] != "peer" {
		return false
	}
	serve, known := peers()[args[1]]
	if !known {
		return false
	}
	serve(args[2:])
	return true
}

// peers maps what stands behind "bench peer" to what it runs. It returns when its
// standard input ends.
func peers() map[string]func(args []string) {
	return map[string]func(args []string){
		"raft":       serveRaft,
		"multiphase": servePeerMultiphase,
	}
}
