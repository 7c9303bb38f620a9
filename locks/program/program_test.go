package program_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/internal/testfile"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/program"
	"locklab/locks/redlock/redistest"
)

// locker is a client of a program, on a clock of its own if there is one.
func locker(t testing.TB, c program.Command, servers []*redistest.Server, clk clock.Clock) *program.Locker {
	t.Helper()
	cfg := program.Config{Command: c, Client: t.Name(), Clock: clk, Stderr: os.Stderr}
	for _, s := range servers {
		cfg.Servers = append(cfg.Servers, program.Server{Name: s.Name, Role: "redis", Addr: s.Addr()})
	}
	l, err := program.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// conforms runs the suite of all locks on a program.
func conforms(t *testing.T, c program.Command, servers []*redistest.Server) {
	t.Helper()
	s := locktest.Clients(time.Minute, func() { redistest.Forget(servers) }, func(_ testing.TB, clk clock.Clock) *program.Locker {
		return locker(t, c, servers, clk)
	})
	s.CloseFreesWithin, s.Leases = time.Minute, &locktest.Leases{Time: time.Minute, Margin: time.Minute}
	locktest.Run(t, s)
}

func python(t *testing.T) program.Command {
	t.Helper()
	c, err := program.ParseCommand("python3 " + filepath.Join("examples", "python", "redis_lock.py") + " --ttl-ms 4000")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPythonIsALock: the example passes the suite that the lab's own locks pass.
func TestPythonIsALock(t *testing.T) { conforms(t, python(t), redistest.Start(t, 1)) }

// TestGoIsALock is the same for the example with redsync.
func TestGoIsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redsync")
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./examples/redsync").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	conforms(t, program.Command{Args: []string{path, "-ttl", "4s"}, Dir: t.TempDir()}, redistest.Start(t, 3))
}

// script is a program that says hello and then what the text of a shell does.
func script(t *testing.T, text string) program.Command {
	t.Helper()
	return scriptThat(t, `"version":1`, text)
}

// scriptThat is one with these fields in its hello.
func scriptThat(t *testing.T, hello, text string) program.Command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client")
	text = "#!/bin/sh\nread line\necho '{\"op\":\"hello\"," + hello + "}'\n" + text + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return program.Command{Args: []string{path}, Dir: filepath.Dir(path)}
}

const (
	grant = `echo '{"op":"acquire","id":1,"outcome":"ok"}'`
	// long is a line of 10 MB.
	long = `head -c 10000000 /dev/zero | tr '\0' x`
)

// TestMisbehaviourIsUnknown: whatever a program does instead of an answer, nothing is known
// of what it was asked for, and why is said.
func TestMisbehaviourIsUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"read line; exit 3":           "its output has ended: exit status 3",
		"read line; kill -9 $$":       "signal: killed",
		"read line; echo granted":     `the line "granted"`,
		"read line; echo":             "it is empty: want one JSON value",
		"read line; " + long:          "a line of more than 65536 bytes",
		"read line; exec sleep 1000":  "context deadline exceeded",
		"exec sleep 1000":             "context deadline exceeded",
		"read line; exec 1>&-; sleep": "its output has ended",
		`read line; echo '{"op":"acquire","id":2,"outcome":"ok"}'`:                             "acquire 2: no such acquisition",
		`read line; echo '{"op":"acquire","id":1,"outcome":"ok","token":5}'`:                   "hello said tokens: false",
		`read line; echo '{"op":"acquire","id":1,"outcome":"ok","until_ms":5}'`:                "hello said lease_ms: 0",
		`read line; echo '{"op":"acquire","id":1,"outcome":"maybe"}'`:                          "want ok, failed or unknown",
		`read line; echo '{"op":"acquire","id":1,"outcome":"failed"}'`:                         "error is missing",
		`read line; echo '{"op":"acquire","id":1,"outcome":"ok","fence":5}'`:                   "fence",
		`read line; echo '{"op":"hello","version":1}'`:                                         "hello twice",
		`read line; echo '{"op":"lost","id":1}'`:                                               "it was not granted",
		`read line; echo '{"op":"release","id":1,"outcome":"ok"}'`:                             "never asked",
		`read line; echo '{"op":"acquire","id":1,"outcome":"unknown","error":"gone"}'`:         "gone",
		`read line; echo '{"op":"acquire","id":1,"outcome":"unknown","error":"a","id":1` + "'": "the line",
	} {
		l := locker(t, script(t, text), nil, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if strings.Contains(want, "deadline") {
			_ = l.Ready(ctx) // so that the deadline is not that of its start
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		_, err := l.Acquire(ctx, "r")
		cancel()
		if locks.OutcomeOf(err) != locks.OutcomeUnknown || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an unknown outcome with %q", text, err, want)
		}
		_ = l.Close()
	}
}

// TestACrashAtStartIsTold as what it was, whether or not it read what it was asked.
func TestACrashAtStartIsTold(t *testing.T) {
	c, err := program.ParseCommand("sh -c 'exit 3'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.Describe(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "its output has ended: exit status 3") {
		t.Errorf("%v, want its exit status", err)
	}
}

// TestWhoDoesNotEndIsHeard: what is wrong is said, and what the lock is, too.
func TestWhoDoesNotEndIsHeard(t *testing.T) {
	c := scriptThat(t, `"version":1,"tokens":true`, "exec 1>&-; exec sleep 1000")
	hello, err := program.Describe(t.Context(), c, nil)
	if err == nil || !strings.Contains(err.Error(), "its output has ended, and it did not within") || !hello.Tokens {
		t.Errorf("%+v, %v, want its hello, and that it did not end", hello, err)
	}
}

// TestDeathEndsTheLease, and the next one who wants the lock gets a new program.
func TestDeathEndsTheLease(t *testing.T) {
	l := locker(t, script(t, "read line; "+grant+"; exit 1"), nil, nil)
	for range 2 {
		lease, err := l.Acquire(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		<-lease.Lost()
		if err := lease.Release(t.Context()); !errors.Is(err, locks.ErrUnknown) {
			t.Errorf("release: %v, want ErrUnknown", err)
		}
	}
}

// TestTheLabCountsLeases from when it asked: a grant whose time is over when it comes is none.
func TestTheLabCountsLeases(t *testing.T) {
	late := func(untilMS string) program.Command {
		return scriptThat(t, `"version":1,"lease_ms":300`, "read line; sleep 1; "+
			`echo '{"op":"acquire","id":1,"outcome":"ok","until_ms":`+untilMS+`}'; read line; echo '{"op":"release","id":1,"outcome":"ok"}'; read line`)
	}
	if _, err := locker(t, late("300"), nil, nil).Acquire(t.Context(), "r"); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("granted after its end: %v, want ErrNotAcquired", err)
	}
	lease, err := locker(t, late("6000"), nil, nil).Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	<-lease.Lost() // by itself
	if err := lease.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release: %v, want ErrNotHeld whatever the program says", err)
	}
}

func TestCommandsAreParsed(t *testing.T) {
	for text, want := range map[string][]string{
		"sh":                           {},
		"sh -c  'echo \"a b\"'":        {"-c", `echo "a b"`},
		`sh "it's" '' a"b"c`:           {"it's", "", "abc"},
		"sh --flag=\"a b\"\t$HOME ~ ;": {"--flag=a b", "$HOME", "~", ";"},
	} {
		c, err := program.ParseCommand(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !filepath.IsAbs(c.Args[0]) || strings.Join(c.Args[1:], "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", text, c.Args, want)
		}
		if again, err := program.ParseCommand(c.String()); err != nil || strings.Join(again.Args, "|") != strings.Join(c.Args, "|") {
			t.Errorf("%q is written as %s and read as %q: %v", text, c, again.Args, err)
		}
	}
	for text, want := range map[string]string{"": "has no program", "sh 'a": "a ' has no end", "./no-such-client": "want a program that can be run"} {
		if _, err := program.ParseCommand(text); !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestTheTranscriptIsRight: what README.md shows a program to say is what the lab takes.
func TestTheTranscriptIsRight(t *testing.T) {
	text := testfile.Read(t, "README.md")
	asked, said := 0, 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if rest, is := bytes.CutPrefix(line, []byte("lab    > ")); is {
			asked++
			if !bytes.HasPrefix(rest, []byte(`{"op":"`)) {
				t.Errorf("%s", line)
			}
		}
		if rest, is := bytes.CutPrefix(line, []byte("client < ")); is {
			said++
			if _, err := program.ParseSaid(rest); err != nil {
				t.Error(err)
			}
		}
	}
	if asked < 5 || said < 5 {
		t.Errorf("README.md has %d lines of the lab and %d of a client: where is the transcript?", asked, said)
	}
}
