// Package external runs the programs with which a scenario breaks what the lab cannot, such as a zone of a
// cloud. The user allows each pair of programs by name on the command line; a scenario gives the name and
// arguments, never a path. No shell is involved.
//
//	programs, err := external.Parse([]string{"fis=/opt/lab/fis-start,/opt/lab/fis-stop"})
//	err = programs.Start(ctx, []string{"fis", "c", "partition"})
//	err = programs.Stop(ctx, []string{"fis", "c", "partition"})
//
// # What the programs have to do
//
// Both get the words behind the name as arguments. The start program exits with 0 once the fault is in force
// or certainly on its way; on SIGTERM, which it gets when the run is aborted, it exits soon. The stop program
// exits with 0 once everything is restored, also if no fault began or it ended by itself: it runs after every
// start, even a failed one. Their stderr is shown when they fail. A fault must end by itself in time: nothing
// stops it if the controller is killed.
package external
