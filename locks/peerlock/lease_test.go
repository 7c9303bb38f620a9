package peerlock_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/must"
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
		options := locktest.Options(t, multiphase.ParseOptions, "multiphase:quorum")
		if _, err := multiphase.New(multiphase.Config{Options: options}); !errors.Is(err, locks.ErrInvalid) {
			t.Fatalf("without a StateFile, want ErrInvalid, got %v", err)
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
	cfgs := peertest.Configs(t, 3, locktest.Options(t, multiphase.ParseOptions, "multiphase:quorum,store=memory,ttl=1m"))
	stopped := &late{Clock: clock.System()}
	cfgs[0].Clock = stopped
	all := peertest.StartAll(t, cfgs, func(c multiphase.Config) (multiphase.Locker, error) {
		c.Founding = true
		return multiphase.New(c)
	})
	var held []locks.Lease
	for i := range names {
		held = append(held, locktest.Acquire(t, all[0], fmt.Sprint(i)))
	}
	next := locktest.Later(t, all[0], "0") // behind a holder that will have lost the lease
	stopped.by.Store(int64(2 * ttl))
	must.Do(t, all[2].Close())
	for _, lease := range held {
		locktest.AwaitLost(t, lease)
	}
	locktest.Release(t, <-next)
}
