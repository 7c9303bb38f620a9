package pglock_test

import (
	"errors"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
)

// TestASessionThatTheServerEnds: the holder is told when it asks next.
func TestASessionThatTheServerEnds(t *testing.T) {
	addr := startServer(t)
	for _, spec := range specs[:2] {
		t.Run(spec, func(t *testing.T) {
			l := newClient(t, addr, nil, spec)
			held := locktest.Acquire(t, l, "r")
			endSessions(t, addr)
			locktest.AwaitLost(t, held)
			locktest.Release(t, locktest.Acquire(t, l, "r"))
		})
	}
}

// TestGrantedTooLate: the process stands still while it is granted the lock, and the server ends its
// session. When it goes on it reads the grant, but another client may hold.
func TestGrantedTooLate(t *testing.T) {
	addr := startServer(t)
	for _, spec := range []string{"postgres:lock_timeout=1m", "postgres:advisory,lock_timeout=1m"} {
		t.Run(spec, func(t *testing.T) {
			link := locktest.NewLink(t, addr)
			clk := &locktest.Clock{}
			late, other := newClient(t, link.Addr(), clk, spec), newClient(t, addr, nil, spec)
			before := locktest.Acquire(t, other, "r")
			got := locktest.Later(t, late, "r")
			waits := func(n int) func() bool {
				return func() bool {
					return ask[int](t, addr, "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == n
				}
			}
			locktest.Eventually(t, "it waits in the server", waits(1))
			link.Hold(true)
			locktest.Release(t, before)
			locktest.Eventually(t, "it is granted the lock", waits(0))
			clk.Leap(2 * time.Minute)
			endSessions(t, addr)
			link.Hold(false)
			lease := <-got
			_ = locktest.Refused(t, other, "r", 300*time.Millisecond)
			locktest.Release(t, lease)
		})
	}
}

// TestALeaseGrantedTooLate is over before the process reads of it.
func TestALeaseGrantedTooLate(t *testing.T) {
	link := locktest.NewLink(t, startServer(t))
	clk := &locktest.Clock{}
	l := newClient(t, link.Addr(), clk, "postgres:lease,ttl=30s,timeout=10s")
	locktest.Release(t, locktest.Acquire(t, l, "there")) // a session is open
	link.Hold(true)
	got := locktest.Later(t, l, "r")
	clk.Leap(time.Minute)
	link.Hold(false)
	lease := <-got
	if until, _ := lease.Expires(); !clk.Now().Before(until) {
		t.Errorf("granted at %v, to %v", clk.Now(), until)
	}
	locktest.Release(t, lease)
}

// TestReleaseBesideClose: whichever comes first, the row is free at once, not after its lease.
func TestReleaseBesideClose(t *testing.T) {
	addr := startServer(t)
	other := newClient(t, addr, clock.System(), "postgres:lease,ttl=1m,timeout=20s")
	for range 50 {
		l := newClient(t, addr, clock.System(), "postgres:lease,ttl=1m,timeout=20s")
		lease := locktest.Acquire(t, l, "r")
		released := make(chan error, 1)
		go func() { released <- lease.Release(t.Context()) }()
		must.Do(t, l.Close())
		if err := <-released; err != nil && !errors.Is(err, locks.ErrNotHeld) {
			t.Fatal(err)
		}
		locktest.Release(t, locktest.Acquire(t, other, "r"))
	}
}
