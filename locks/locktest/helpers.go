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

// Options are those of a spec that is right.
func Options[O any](tb testing.TB, parse func(locks.Spec) (O, error), text string) O {
	tb.Helper()
	spec, err := locks.ParseSpec(text)
	must.Do(tb, err)
	o, err := parse(spec)
	must.Do(tb, err)
	return o
}

// Specs checks how specs are read: well where nothing is said of them, otherwise not, with
// an error that says so.
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

// Open takes what New of a lock returned, and closes it at the test's end.
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

// patience is longer than anything that a right program does, on any machine.
const patience = 2 * time.Minute

// Eventually waits for a condition that has no event to wait for.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := clock.Mono() + int64(patience); !holds(); {
		if clock.Mono() > end {
			tb.Fatalf("waited in vain: %s", what)
		}
		_ = clock.Sleep(context.Background(), 2*time.Millisecond)
	}
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

// Links makes a link to each address; through are what to dial in its place.
func Links(tb testing.TB, addrs []string) (links []*Link, through []string) {
	tb.Helper()
	for _, addr := range addrs {
		l := NewLink(tb, addr)
		links, through = append(links, l), append(through, l.Addr())
	}
	return links, through
}

// FreeAddr is an address of the loopback that nobody listens on, for a server that must be
// told one. It is none of those that the kernel gives out by itself: to connections that
// begin, and to who listens on port 0. One of these could be taken before the server has it.
// A process gets no address twice, so servers that start together do not meet.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	const lowest, ports = 2_000, 8_000 // the kernel gives out those from 32,768
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

// given are the addresses that this process was given. A test's servers may have them until
// its end, whoever listens at the moment.
var given sync.Map //nolint:gochecknoglobals // what it guards is the process's too
