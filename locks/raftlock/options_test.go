package raftlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseOptions(t *testing.T) {
	for text, want := range map[string]raftlock.Options{
		"raft":          raftlock.DefaultOptions(),
		"raft:lease=1s": {Lease: time.Second, Sync: true},
	} {
		if got := locktest.Options(t, raftlock.ParseOptions, text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	locktest.Specs(t, raftlock.ParseOptions, map[string]string{
		"raft:lease=1ms": "lease 1ms", "raft:lease=soon": "lease=soon",
		"raft:fast": `unknown variant "fast"`, "raft:size=3": `unknown option "size" (known: lease, sync)`,
	})
}

func TestNoServers(t *testing.T) {
	if l, err := raftlock.New(raftlock.Config{}); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("got %v, %v, want ErrInvalid", l, err)
	}
}

// TestNobodyThere shows the outcomes when no server answers: what never left the
// client is surely not held.
func TestNobodyThere(t *testing.T) {
	l, err := raftlock.New(raftlock.Config{Servers: []raftlock.Server{{Name: "a", Addr: "127.0.0.1:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = locktest.Refused(t, l, "r", 50*time.Millisecond)
	if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want not acquired, unavailable and the context's error", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := l.Acquire(context.Background(), "r")
		waiting <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, locks.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if _, err := l.Acquire(context.Background(), "r"); !errors.Is(err, locks.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
