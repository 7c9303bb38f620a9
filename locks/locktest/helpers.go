package locktest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/internal/signals"
	"locklab/locks"
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

// Release releases what is still held.
func Release(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		tb.Errorf("release: %v", err)
	}
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

// LostBefore breaks the holder's links and has the waiter get the lock: the holder must have
// been told by then, and what it writes after that can be refused.
func LostBefore(tb testing.TB, holder, waiter locks.Locker, breakLinks func()) {
	tb.Helper()
	first := Acquire(tb, holder, "r")
	breakLinks()
	second := Acquire(tb, waiter, "r")
	if !signals.Closed(first.Lost()) {
		tb.Error("another client holds, and the first one was not told that it does not")
	}
	before, tokens := first.Token()
	if after, _ := second.Token(); tokens && after <= before {
		tb.Errorf("token %d after %d: the resource could not refuse the first holder", after, before)
	}
	if err := first.Release(tb.Context()); !errors.Is(err, locks.ErrNotHeld) {
		tb.Errorf("release after the loss: %v", err)
	}
	Release(tb, second)
}
