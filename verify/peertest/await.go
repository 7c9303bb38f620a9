package peertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/locktest"
)

// Patience ends a test that hangs. It is far beyond what a slow machine needs.
const Patience = 60 * time.Second

// Within is for what must not take longer than [Patience].
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	tb.Cleanup(cancel)
	return ctx
}

// AwaitLink waits until l is connected to the peer with the id, or is not.
func AwaitLink(tb testing.TB, l Peer, id string, up bool) {
	tb.Helper()
	what := "connected to " + id
	if !up {
		what = "not " + what
	}
	locktest.Eventually(tb, what, func() bool {
		for _, p := range l.Peers() {
			if p.Peer.ID == id {
				return p.Up == up
			}
		}
		return false
	})
}

// Links is to how many others l is connected.
func Links(l Peer) (n int) {
	for _, p := range l.Peers() {
		if p.Up {
			n++
		}
	}
	return n
}

// Acquire acquires.
func Acquire(tb testing.TB, l locks.Locker, name string) locks.Lease {
	tb.Helper()
	lease, err := l.Acquire(Within(tb), name)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// Release releases.
func Release(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	if lease == nil { // and Later has said why
		tb.FailNow()
	}
	if err := lease.Release(Within(tb)); err != nil {
		tb.Fatal(err)
	}
}

// Later acquires in the background.
func Later(tb testing.TB, l locks.Locker, name string) <-chan locks.Lease {
	tb.Helper()
	got := make(chan locks.Lease, 1)
	var running sync.WaitGroup
	tb.Cleanup(running.Wait)
	ctx := Within(tb)
	running.Go(func() {
		lease, err := l.Acquire(ctx, name)
		if err != nil {
			tb.Errorf("acquire %q: %v", name, err)
		}
		got <- lease
	})
	return got
}

// Refused wants an acquisition that is refused or waits in vain, and gives its error.
func Refused(tb testing.TB, l locks.Locker, name string) error {
	tb.Helper()
	const short = 100 * time.Millisecond // its length decides nothing
	ctx, cancel := context.WithTimeout(tb.Context(), short)
	defer cancel()
	_, err := l.Acquire(ctx, name)
	if err == nil {
		tb.Fatalf("acquired %q", name)
	}
	return err
}
