package raftnode_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
)

// TestAReleaseEndsWithItsLease: without a deadline a release returns during an outage, too.
func TestAReleaseEndsWithItsLease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, raftnode.Config{})
	held := locktest.Acquire(t, c.locker(time.Second), "r")
	c.stop("raft-1")
	released := make(chan error, 1)
	go func() { released <- held.Release(context.Background()) }()
	select {
	case err := <-released:
		if !errors.Is(err, locks.ErrUnknown) {
			t.Errorf("got %v, want ErrUnknown: the service may have got the release", err)
		}
	case <-locktest.Within(t).Done():
		t.Fatal("the release is still under way")
	}
	if signals.Closed(held.Lost()) {
		t.Error("Release closed Lost")
	}
}

// TestAReleaseThatWasDoneWasNotTooLate: the service releases, its answer is lost, and the client hears
// of its session only when that has expired. The slow clock keeps the client waiting for that long.
func TestAReleaseThatWasDoneWasNotTooLate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, raftnode.Config{})
	link := locktest.NewLink(t, c.client[c.leader()])
	clk := clock.NewSkewed(clock.System())
	holder := c.lockerOn(clk, time.Second, raftlock.Server{Name: "raft-1", Addr: link.Addr()})
	other := c.locker(long)
	released, expires := locktest.Acquire(t, holder, "released"), locktest.Acquire(t, holder, "expires")

	clk.Set(0, 0.1)
	link.Deafen()
	result := make(chan error, 1)
	go func() { result <- released.Release(context.Background()) }()
	locktest.Release(t, locktest.Acquire(t, other, "released"))
	if signals.Closed(expires.Lost()) {
		t.Fatal("the session ended before the release was done")
	}
	link.Cut(true)
	locktest.Release(t, locktest.Acquire(t, other, "expires")) // so the session has expired
	link.Cut(false)
	if err := <-result; !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown: the release was sent while the lease lasted", err)
	}
}
