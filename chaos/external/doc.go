// Package external runs the programs with which a scenario breaks what the lab
// cannot, such as a zone of a cloud. The user allows each pair of programs by name
// on the command line; a scenario names the pair and gives words, never a path, and
// no shell comes between.
//
//	programs, err := external.Parse([]string{"fis=/opt/lab/fis-start,/opt/lab/fis-stop"})
//	err = programs.Start(ctx, []string{"fis", "c", "partition"})
//	err = programs.Stop(ctx, []string{"fis", "c", "partition"})
//
// # What the programs have to do
//
// Both get the words behind the name as their arguments. The start program ends
// with 0 once the fault is in force or certainly on its way; on SIGTERM, which it
// gets when the run is aborted, it ends soon. The stop program ends with 0 once
// all is as it was, also if nothing was begun or it has ended by itself: it is
// called after every start, whatever became of that. What they write to stderr is
// shown when they fail. A fault must end by itself in time, because nobody stops it
// if the controller is killed.
package external
