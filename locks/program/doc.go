// Package program makes a lock of a program: a client in any language that speaks lines
// of JSON on its standard input and output. README.md beside this file is the protocol.
//
//	lock, err := program.New(program.Config{Command: program.Command{Args: []string{"./client"}}, ...})
//	lease, err := lock.Acquire(ctx, "group-7")
//
// One program is one client of the lock service, and what it does harms nobody else: one
// that ends, hangs, or says what the protocol does not allow is killed and started anew,
// what it held counts as lost at once, and what it was asked for as unknown.
//
// The lab counts a lease from the moment at which it sent the request, which is never
// later than the moment at which the program read it: so no clocks need to be compared,
// and however long either process stands still, a holder believes for too short a time
// rather than for too long a one.
package program
