package locktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// Options are those of a spec that is right.
func Options[O any](tb testing.TB, parse func(locks.Spec) (O, error), text string) O {
	tb.Helper()
	spec, err := locks.ParseSpec(text)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := parse(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

// Specs checks how specs are read: well where nothing is said of them, otherwise not, with
// an error that says so.
func Specs[O any](tb testing.TB, parse func(locks.Spec) (O, error), wrong map[string]string) {
	tb.Helper()
	for text, want := range wrong {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			tb.Fatal(err)
		}
		_, err = parse(spec)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			tb.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Open takes what New of a lock returned, and closes it at the test's end.
func Open[L locks.Locker](tb testing.TB, l L, err error) L {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// Within is for what must be over long before the test would be ended.
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// Acquire acquires what is free, or will be.
func Acquire(tb testing.TB, l locks.Locker, resource string) locks.Lease {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	lease, err := l.Acquire(ctx, resource)
	if err != nil {
		tb.Fatalf("acquire %s: %v", resource, err)
	}
	return lease
}

// Later acquires in the background.
func Later(tb testing.TB, l locks.Locker, resource string) <-chan locks.Lease {
	tb.Helper()
	got := make(chan locks.Lease, 1)
	var running sync.WaitGroup
	tb.Cleanup(running.Wait)
	ctx := Within(tb)
	running.Go(func() {
		lease, err := l.Acquire(ctx, resource)
		if err != nil {
			tb.Errorf("acquire %s: %v", resource, err)
		}
		got <- lease
	})
	return got
}

// Refused wants an acquisition that is refused, or waits in vain, and gives its error.
func Refused(tb testing.TB, l locks.Locker, resource string, patience time.Duration) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	_, err := l.Acquire(ctx, resource)
	if err == nil {
		tb.Fatalf("acquired %s", resource)
	}
	return err
}

// Release releases what is still held.
func Release(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	if lease == nil { // and Later has said why
		tb.FailNow()
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		tb.Errorf("release: %v", err)
	}
}

// AwaitLost waits until a holder is told that it holds no longer.
func AwaitLost(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	select {
	case <-lease.Lost():
	case <-Within(tb).Done():
		tb.Fatal("the lease is over, and its holder was never told")
	}
}

// Clients are three of a lock on servers. The first goes by a clock of the suite's; nil is
// the system's. Fresh, which may be nil, has the servers forget what was before.
func Clients[L locks.Locker](lease time.Duration, fresh func(), client func(tb testing.TB, c clock.Clock) L) Subject {
	first := NewClock()
	return Subject{Leases: &Leases{Time: lease, Clock: first}, New: func(tb testing.TB) (all []locks.Locker) {
		if fresh != nil {
			fresh()
		}
		for _, c := range []clock.Clock{first, nil, nil} {
			all = append(all, client(tb, c))
		}
		return all
	}}
}

// Links makes a link to each address; through are what to dial in its place.
func Links(tb testing.TB, addrs []string) (links []*Link, through []string) {
	tb.Helper()
	for _, addr := range addrs {
		l := NewLink(tb, addr)
		links, through = append(links, l), append(through, l.Addr())
	}
	return links, through
}
