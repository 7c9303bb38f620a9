// Command locklab is a benchmark and chaos-testing lab for distributed locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes of every command; DESIGN of the command line, relied on by scripts. A
// crash has none of them, see crashByAbort.
const (
	exitOK            = 0
	exitCannotRun     = 1   // bad input, a missing server
	exitViolated      = 2   // a verdict that was not expected, or a --fail-on threshold
	exitControlSilent = 3   // a control did not show its violation
	exitInconclusive  = 4   // no verdict: a fault was not proven, the generator fell behind
	exitInterrupted   = 130 // the user stopped it
)

// exitError ends the program with a code; a nil err means that all is said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	crashByAbort()
	os.Exit(survive(os.Stderr, execute))
}

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.err != nil {
			fmt.Fprintf(os.Stderr, "locklab: %v\n", exit.err)
		}
		return exit.code
	}
	fmt.Fprintf(os.Stderr, "locklab: %v\n", err)
	return exitCannotRun
}
