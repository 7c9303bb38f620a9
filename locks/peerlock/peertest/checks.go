package peertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/peerlock"
	"locklab/locks/seed"
)

// short is a wait that is meant to run out. Its length decides nothing.
const short = 100 * time.Millisecond

// CountMessages takes a free lock often and checks that an acquisition, with its
// release, costs perPeer messages for each other peer, no more and no less.
func CountMessages[L Peer](tb testing.TB, all []L, perPeer int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	const rounds = 10
	for range rounds {
		for i, l := range all {
			// Each takes another resource, since a release may still be under way.
			lease, err := l.Acquire(ctx, fmt.Sprintf("counted-%d", i))
			if err != nil {
				tb.Fatal(err)
			}
			if err := lease.Release(ctx); err != nil {
				tb.Fatal(err)
			}
		}
	}
	want := uint64(rounds * len(all) * perPeer * (len(all) - 1))
	sum := func() (n uint64) {
		for _, l := range all {
			n += l.MessagesSent()
		}
		return n
	}
	Await(ctx, tb, func() bool { return sum() >= want }) // an answer may still be under way
	if got := sum(); got != want {
		tb.Errorf("%d acquisitions among %d peers took %d messages, want %d", rounds*len(all), len(all), got, want)
	}
}

// DeadPeerBlocks checks that nobody gets the lock while the last of three peers is
// dead, that the error says so, and that a wait goes on when it has come back without
// its memory.
func DeadPeerBlocks[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	cfgs := Configs(t, 3, options)
	all := StartAll(t, cfgs, start)
	addr := cfgs[2].Listener.Addr().String()
	if _, err := all[2].Acquire(ctx, "r"); err != nil { // it dies with the lock in its hands
		t.Fatal(err)
	}
	_ = all[2].Close()
	for _, l := range all[:2] {
		AwaitLink(ctx, t, l, "p2", false)
		tryCtx, cancelTry := context.WithTimeout(ctx, short)
		_, err := l.Acquire(tryCtx, "r")
		cancelTry()
		if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "p2") {
			t.Fatalf("with a dead peer, want ErrNotAcquired and ErrUnavailable that names p2, got %v", err)
		}
	}
	waits := make(chan error, 2)
	for _, l := range all[:2] {
		go func() {
			lease, err := l.Acquire(ctx, "r")
			if err == nil {
				err = lease.Release(ctx)
			}
			waits <- err
		}()
	}
	again := cfgs[2]
	again.Listener = Listen(t, addr)
	l, err := start(again)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for range 2 {
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Acquire(ctx, "r"); err != nil {
		t.Fatal(err)
	}
}

// DeadPeerIsLeftOut checks that the others go on when one of three peers is dead.
func DeadPeerIsLeftOut[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	all := StartAll(t, Configs(t, 3, options), start)
	if _, err := all[2].Acquire(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	_ = all[2].Close()
	for _, l := range all[:2] {
		lease, err := l.Acquire(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// ReconnectResumes breaks the link of peers 0 and 1 while 0 holds and 1 waits, checks
// that nobody else gets the lock meanwhile, and that 1 gets it in the end.
func ReconnectResumes[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	cfgs := Configs(t, 3, options)
	proxy := NewProxy(t, cfgs[1].Listener.Addr().String())
	cfgs[0].Peers[0].Addr = proxy.Addr()
	all := StartAll(t, cfgs, start)
	for _, released := range []bool{false, true} { // while the link is down
		lease, err := all[0].Acquire(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			next, err := all[1].Acquire(ctx, "r")
			if err == nil {
				err = next.Release(ctx)
			}
			got <- err
		}()
		proxy.Cut(true)
		AwaitLink(ctx, t, all[0], "p1", false)
		AwaitLink(ctx, t, all[1], "p0", false)
		for _, l := range all[1:] {
			tryCtx, cancelTry := context.WithTimeout(ctx, short)
			if _, err := l.Acquire(tryCtx, "r"); err == nil {
				t.Fatal("acquired while another one holds")
			}
			cancelTry()
		}
		if released {
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		proxy.Cut(false)
		AwaitLink(ctx, t, all[0], "p1", true)
		if !released {
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	}
}

// ManyNames takes so many resources that most of them are forgotten and come back,
// with a few that everybody wants, and checks that each has one holder at a time.
func ManyNames[L Peer](tb testing.TB, all []L) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	const (
		workers, rounds = 6, 150 // of each peer
		names           = 3000
		hot             = 4
	)
	inside := make([]atomic.Int64, names)
	var wg sync.WaitGroup
	for i, l := range all {
		for j := range workers {
			rand := seed.Seed(i).Child(strconv.Itoa(j)).Rand()
			wg.Go(func() {
				for k := range rounds {
					name := rand.IntN(names)
					if k%2 == 0 {
						name %= hot
					}
					lease, err := l.Acquire(ctx, strconv.Itoa(name))
					if err != nil {
						tb.Error(err)
						return
					}
					if n := inside[name].Add(1); n != 1 {
						tb.Errorf("%d holders of resource %d", n, name)
					}
					runtime.Gosched() // lets an intruder in
					inside[name].Add(-1)
					if err := lease.Release(ctx); err != nil {
						tb.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
