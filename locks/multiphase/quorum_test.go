package multiphase_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

// onDisk is n peers of a new cluster of multiphase:quorum.
func onDisk(tb testing.TB, n int, ttl time.Duration) []multiphase.Config {
	tb.Helper()
	cfgs := peertest.Configs(tb, n, multiphase.Options{Quorum: &multiphase.Quorum{TTL: ttl, Extend: true}})
	dir := tb.TempDir()
	for i := range cfgs {
		cfgs[i].StateFile, cfgs[i].Founding = filepath.Join(dir, cfgs[i].Self.ID), true
	}
	return cfgs
}

func TestQuorumConforms(t *testing.T) {
	const ttl = 4 * time.Second
	for n, cohort := range map[int]int{2: 0, 3: 2} {
		t.Run(fmt.Sprintf("%d peers, cohort of %d", n, cohort), func(t *testing.T) {
			t.Parallel()
			leases := &locktest.Leases{Time: ttl, Margin: 2 * ttl}
			locktest.Run(t, locktest.Subject{
				NeedsAll:         n == 2,
				CloseFreesWithin: 3 * ttl,
				Leases:           leases,
				New: func(tb testing.TB) []locks.Locker {
					cfgs := onDisk(tb, n, ttl)
					for i := range cfgs {
						cfgs[i].Options.Cohort = cohort
					}
					if n > 2 { // with fewer nobody gets anything without the first
						leases.Clock = &locktest.Clock{}
						cfgs[0].Clock = leases.Clock
					}
					return peertest.Lockers(peertest.StartAll(tb, cfgs, multiphase.New))
				},
			})
		})
	}
}

// TestQuorumMinority cuts a holder off. It loses the lease, cannot get another one,
// and says why; the others go on with greater tokens.
func TestQuorumMinority(t *testing.T) {
	cfgs := onDisk(t, 3, time.Second)
	cut := cutOff(t, cfgs)
	all := peertest.StartAll(t, cfgs, multiphase.New)
	held := locktest.Acquire(t, all[2], "x")
	cut(true)
	next := locktest.Acquire(t, all[0], "x")
	if token(t, next) <= token(t, held) {
		t.Errorf("token %d after %d", token(t, next), token(t, held))
	}
	if until, ok := held.Expires(); !ok || until.After(clock.System().Now()) {
		t.Errorf("another lease has begun, and that of the minority ends %v, %v", until, ok)
	}
	locktest.AwaitLost(t, held)
	for range 2 {
		if err := held.Release(locktest.Within(t)); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("release what was lost: want ErrNotHeld, got %v", err)
		}
	}
	if err := locktest.Refused(t, all[2], "y", 100*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("in the minority: want ErrNotAcquired and ErrUnavailable, got %v", err)
	}
	locktest.Release(t, next)
	cut(false)
	last := locktest.Acquire(t, all[2], "x")
	if token(t, last) <= token(t, next) {
		t.Errorf("token %d after %d", token(t, last), token(t, next))
	}
}

// cutOff cuts the last of three peers off, or heals that.
func cutOff(tb testing.TB, cfgs []multiphase.Config) func(bool) {
	tb.Helper()
	links := peertest.Cuttable(tb, cfgs)
	return func(cut bool) {
		links[[2]int{0, 2}].Cut(cut)
		links[[2]int{1, 2}].Cut(cut)
	}
}

func token(tb testing.TB, lease locks.Lease) locks.Token {
	tb.Helper()
	token, ok := lease.Token()
	if !ok {
		tb.Fatal("there is no fencing token")
	}
	return token
}

// growing takes a name with one peer after the other, and checks that tokens grow.
func growing(tb testing.TB) (take func(l multiphase.Locker)) {
	var last locks.Token
	return func(l multiphase.Locker) {
		tb.Helper()
		lease := locktest.Acquire(tb, l, "x")
		if token(tb, lease) <= last {
			tb.Errorf("token %d after %d", token(tb, lease), last)
		}
		last = token(tb, lease)
		locktest.Release(tb, lease)
	}
}

func TestQuorumExtends(t *testing.T) {
	const ttl = time.Second
	all := peertest.StartAll(t, onDisk(t, 3, ttl), multiphase.New)
	lease := locktest.Acquire(t, all[0], "x")
	first, _ := lease.Expires()
	locktest.Eventually(t, "the lease was extended twice over", func() bool {
		now, _ := lease.Expires()
		return now.Sub(first) > ttl
	})
	locktest.Release(t, lease)

	cfgs := onDisk(t, 3, ttl)
	for i := range cfgs {
		cfgs[i].Options.Quorum.Extend = false
	}
	all = peertest.StartAll(t, cfgs, multiphase.New)
	lease = locktest.Acquire(t, all[0], "x")
	locktest.AwaitLost(t, lease)
	locktest.Release(t, locktest.Acquire(t, all[0], "x"))
}
