package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

// crashByAbort sees that no crash looks like a verdict. A panic in a goroutine, a lack
// of memory, SIGQUIT: of all these the Go runtime makes exit code 2, which here means
// that something was violated. Told to crash it ends by SIGABRT instead: 134 for a
// shell, and no code at all for a parent.
func crashByAbort() { debug.SetTraceback("crash") }

// survive turns a panic of the command itself into a message and the code for a
// program that could not do its work.
func survive(stderr io.Writer, command func() int) (code int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(stderr, "locklab: a mistake in locklab itself, which its authors would like to know of: %v\n%s", v, debug.Stack())
			code = exitCannotRun
		}
	}()
	return command()
}
