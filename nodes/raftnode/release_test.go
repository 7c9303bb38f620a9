package raftnode_test

import (
	"context"
	"errors"
	"runtime"
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

// TestWaitsThatNeverLeftLeaveNothing: acquisitions that time out while no server is reached take no
// memory afterwards, also behind a request that was sent and is not answered.
func TestWaitsThatNeverLeftLeaveNothing(t *testing.T) {
	for name, sent := range map[string]bool{"nothing was sent": false, "a request is not answered": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, raftnode.Config{})
			client := c.locker(time.Second)
			locktest.Release(t, locktest.Acquire(t, client, "before"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			waits := func() { _, _ = client.Acquire(ctx, "r") }
			asked := make(chan struct{})
			if sent {
				c.clientLinks["raft-1"].Hold(true)
				before := client.MessagesSent()
				go func() { defer close(asked); waits() }()
				locktest.Eventually(t, "the request to leave", func() bool { return client.MessagesSent() > before })
			} else {
				close(asked)
			}
			c.clientLinks["raft-1"].Cut(true)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			last := make(chan struct{})
			go func() { defer close(last); waits() }() // one that waits throughout

			timeOut := func(n int) {
				for range n {
					ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
					_, _ = client.Acquire(ctx, "r")
					cancel()
				}
			}
			timeOut(1000)
			before := heap()
			const n = 20_000
			timeOut(n)
			if grown := (heap() - before) / n; grown > 40 {
				t.Errorf("each acquisition that timed out keeps %d bytes", grown)
			}
			cancel()
			stop()
			<-asked
			<-last
			c.clientLinks["raft-1"].Hold(false)
			c.clientLinks["raft-1"].Cut(false)
			locktest.Release(t, locktest.Acquire(t, client, "after"))
		})
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers have freed
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // far below
}
