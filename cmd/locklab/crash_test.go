package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// TestCrashIsNoVerdict: what the Go runtime ends with exit code 2 ends here with
// another one, as 2 means that something was violated.
func TestCrashIsNoVerdict(t *testing.T) {
	if os.Getenv("LOCKLAB_TEST_CRASH") != "" {
		debug.SetTraceback("crash")
		go func() { panic("on purpose") }()
		select {}
	}
	again := exec.Command(os.Args[0], "-test.run", "^TestCrashIsNoVerdict$") //nolint:gosec // this test
	again.Env = append(os.Environ(), "LOCKLAB_TEST_CRASH=1")
	out, err := again.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "panic: on purpose") {
		t.Fatalf("it did not crash: %v\n%s", err, out)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("it ended with %v, want SIGABRT", exit)
	}
}
