package peerlock_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

// TestNewThatFailsLeavesNothing waits until the recovery would be over that a peer
// begins when it starts, though it could not be started.
func TestNewThatFailsLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := multiphase.DefaultQuorum()
		if _, err := multiphase.New(multiphase.Config{Options: options}); !errors.Is(err, locks.ErrInvalid) {
			t.Fatalf("without an ID, want ErrInvalid, got %v", err)
		}
		time.Sleep(10 * options.Quorum.TTL)
	})
}

// late is the clock of a process that was stopped: time has passed, and no timer has
// gone off yet.
type late struct {
	clock.Clock
	by atomic.Int64
}

func (l *late) Now() time.Time { return l.Clock.Now().Add(time.Duration(l.by.Load())) }

// TestLeaseEndsLateWithTheLink has a peer notice only when a connection is lost that its
// leases have run out, as after a pause of the process.
func TestLeaseEndsLateWithTheLink(t *testing.T) {
	const names, ttl = 50, time.Minute
	options := multiphase.DefaultQuorum()
	options.Quorum.TTL = ttl
	cfgs := peertest.Configs(t, 3, options)
	stopped := &late{Clock: clock.System()}
	cfgs[0].Clock = stopped
	all := peertest.StartAll(t, cfgs, func(c multiphase.Config) (*multiphase.Locker, error) {
		c.Founding = true
		return multiphase.New(c)
	})
	ctx := locktest.Within(t)
	var held []locks.Lease
	for i := range names {
		lease, err := all[0].Acquire(ctx, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, lease)
	}
	waits := make(chan error, 1)
	go func() { // behind a holder that will have lost the lease
		lease, err := all[0].Acquire(ctx, "0")
		if err == nil {
			err = lease.Release(ctx)
		}
		waits <- err
	}()
	locktest.Eventually(t, "somebody waits", func() bool { return all[0].Claims("0") == 2 })
	stopped.by.Store(int64(2 * ttl))
	if err := all[2].Close(); err != nil {
		t.Fatal(err)
	}
	for i, lease := range held {
		select {
		case <-lease.Lost():
		case <-ctx.Done():
			t.Fatalf("lease %d of %d is never lost", i, names)
		}
	}
	if err := <-waits; err != nil {
		t.Errorf("who waited: %v", err)
	}
}
