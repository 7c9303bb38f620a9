package peerlock_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

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
	cfgs, _ := onSlowDisks(t, 3) // which are not slow here
	stopped := &late{Clock: clock.System()}
	cfgs[0].Clock = stopped
	all := peertest.StartAll(t, cfgs, multiphase.New)
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
