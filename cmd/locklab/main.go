// Command locklab is a benchmark and chaos-testing lab for distributed locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"locklab/cmd/locklab/internal/lab"
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
	exitTerminated    = 143 // SIGTERM did
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var interrupted atomic.Int32 // the exit code for that
	interrupted.Store(exitInterrupted)
	code := func(s os.Signal) int32 {
		if s == syscall.SIGTERM {
			return exitTerminated
		}
		return exitInterrupted
	}
	go func() {
		interrupted.Store(code(<-signals))
		cancel()
		os.Exit(int(code(<-signals))) // asked a second time; nodes end with this process
	}()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		exit = &exitError{exitCannotRun, err}
	}
	if exit.err != nil {
		fmt.Fprintln(os.Stderr, folded(os.Stderr, "locklab: "+lab.Said(exit.err)))
	}
	if exit.code == exitInterrupted {
		return int(interrupted.Load())
	}
	return exit.code
}
