package locktest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// Options returns the options of a valid spec.
func Options[O any](tb testing.TB, parse func(locks.Spec) (O, error), text string) O {
	tb.Helper()
	spec, err := locks.ParseSpec(text)
	must.Do(tb, err)
	o, err := parse(spec)
	must.Do(tb, err)
	return o
}

// Specs parses each key of wrong, and wants an error that contains its value, or none if that is "".
func Specs[O any](tb testing.TB, parse func(locks.Spec) (O, error), wrong map[string]string) {
	tb.Helper()
	for text, want := range wrong {
		spec, err := locks.ParseSpec(text)
		must.Do(tb, err)
		_, err = parse(spec)
		says := err != nil && errors.Is(err, locks.ErrInvalid) && strings.Contains(err.Error(), want)
		if says != (want != "") || err != nil && !says {
			tb.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Open takes the results of a lock's New, and closes the lock when the test ends.
func Open[L locks.Locker](tb testing.TB, l L, err error) L {
	tb.Helper()
	must.Do(tb, err)
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// patience exceeds the duration of any step of a correct program, on any machine.
const patience = 2 * time.Minute

// Eventually polls a condition that no event announces.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := clock.Mono() + int64(patience); !holds(); {
		if clock.Mono() > end {
			tb.Fatalf("waited in vain: %s", what)
		}
		_ = clock.Sleep(context.Background(), 2*time.Millisecond)
	}
}

// Within returns a context that ends long before the test's own deadline.
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// Acquire acquires a resource that is free, or will be.
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

// Refused fails the test if the acquisition succeeds, and returns its error.
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

// Release releases a lease that must still be held.
func Release(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	if lease == nil { // Later has reported the error
		tb.FailNow()
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := lease.Release(ctx); err != nil {
		tb.Errorf("release: %v", err)
	}
}

// AwaitLost waits until the lease is lost.
func AwaitLost(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	select {
	case <-lease.Lost():
	case <-Within(tb).Done():
		tb.Fatal("the lease is over, and its holder was never told")
	}
}

// Clients describes three clients of a lock on servers. The first runs on a clock of the suite; the
// others get nil for the system's. If fresh is not nil, it makes the servers forget earlier state.
func Clients[L locks.Locker](lease time.Duration, fresh func(), client func(tb testing.TB, c clock.Clock) L) Subject {
	first := &Clock{}
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

// Links makes a link to each address; through are the addresses to dial instead.
func Links(tb testing.TB, addrs []string) (links []*Link, through []string) {
	tb.Helper()
	for _, addr := range addrs {
		l := NewLink(tb, addr)
		links, through = append(links, l), append(through, l.Addr())
	}
	return links, through
}

// FreeAddr returns a free loopback address for a server that must be told one. Its port is below the
// range from which the kernel picks ports for other sockets. No address is returned twice in one process.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	const lowest, ports = 2_000, 8_000 // the kernel picks from 32,768 on
	random := seed.Seed(uint64(clock.Mono())).Child(tb.Name()).Rand()
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", lowest+random.IntN(ports))
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
		if err != nil {
			continue // it is taken
		}
		_ = listener.Close() // nothing was accepted
		if _, before := given.LoadOrStore(addr, nil); !before {
			return addr
		}
	}
}

// given are the addresses that this process was given: a server that is down may need its own again.
var given sync.Map //nolint:gochecknoglobals // ports belong to the process, too
