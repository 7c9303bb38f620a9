// Command locklab is a benchmark and chaos-testing lab for distributed locks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"locklab/cmd/locklab/internal/lab"
)

// Exit codes of every command, relied on by scripts.
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

// exitWith is a code as an error; nil if all went as expected.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

func main() {
	// A crash of a Go program has exit code 2, which here means a violation. So it ends by SIGABRT.
	debug.SetTraceback("crash")
	os.Exit(execute())
}

func execute() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var interrupted atomic.Int32 // the exit code for that
	go func() {
		for s := range signals {
			code := int32(exitInterrupted)
			if s == syscall.SIGTERM {
				code = exitTerminated
			}
			if !interrupted.CompareAndSwap(0, code) {
				os.Exit(int(code)) // the second signal; nodes end with this process
			}
			cancel()
		}
	}()
	err := newRoot().ExecuteContext(ctx)
	exit, coded := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return exitOK
	case !coded && ctx.Err() != nil:
		exit = &exitError{exitInterrupted, fmt.Errorf("interrupted: %w", err)}
	case !coded:
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
