package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestCrashIsNoVerdict: what the Go runtime ends with exit code 2 ends here with
// another one, as 2 means that something was violated.
func TestCrashIsNoVerdict(t *testing.T) {
	if os.Getenv("LOCKLAB_TEST_CRASH") != "" {
		crashByAbort()
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

func TestPanicOfACommandIsExit1(t *testing.T) {
	var stderr bytes.Buffer
	if code := survive(&stderr, func() int { panic("on purpose") }); code != exitCannotRun {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "a mistake in locklab itself") || !strings.Contains(stderr.String(), "on purpose") {
		t.Errorf("it says %s", &stderr)
	}
}

func TestInterruptedWorkEndsAtOnce(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	for name, work := range map[string]func() error{
		"stuck":              func() error { interrupt(); select {} },
		"stops by itself":    func() error { interrupt(); return ctx.Err() },
		"done all the same":  func() error { interrupt(); return nil },
		"with a verdict too": func() error { interrupt(); return &exitError{code: exitViolated} },
	} {
		exit, ok := errors.AsType[*exitError](interruptible(ctx, work))
		if !ok || exit.code != exitInterrupted {
			t.Errorf("%s: ended with %v", name, exit)
		}
	}
	if err := interruptible(t.Context(), func() error { return errTest }); !errors.Is(err, errTest) {
		t.Errorf("not interrupted: %v", err)
	}
}

var errTest = errors.New("test")
