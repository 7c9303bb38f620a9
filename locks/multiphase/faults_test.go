package multiphase_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

func TestDifferentOptionsAreRefused(t *testing.T) {
	cfgs := peertest.Configs(t, 2, multiphase.DefaultOptions())
	cfgs[1].Options = locktest.Options(t, multiphase.ParseOptions, "multiphase:fair=off")
	a, b := peertest.Start(t, cfgs[0], multiphase.New), peertest.Start(t, cfgs[1], multiphase.New)
	locktest.Eventually(t, "both say why", func() bool {
		return strings.Contains(fmt.Sprint(a.Peers()[0].Problem), "fair=off") && !b.Peers()[0].Up
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := a.Ready(ctx)
	if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "fair=off") {
		t.Errorf("Ready should say why: %v", err)
	}
}

// TestAcquireBeforeTheMeshHasFormed: a pair of three peers may be one of two sides, each of
// which would let one of its own in.
func TestAcquireBeforeTheMeshHasFormed(t *testing.T) {
	cfgs := peertest.Configs(t, 3, multiphase.DefaultOptions())
	peers := []multiphase.Locker{peertest.Start(t, cfgs[0], multiphase.New), peertest.Start(t, cfgs[1], multiphase.New)}
	for i, p := range peers {
		peertest.AwaitLink(t, p, cfgs[1-i].Self.ID, true)
		err := locktest.Refused(t, p, "x", 100*time.Millisecond)
		if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), cfgs[2].Self.ID) {
			t.Errorf("peer %d: want ErrNotAcquired and ErrUnavailable that name %s, got %v", i, cfgs[2].Self.ID, err)
		}
	}
	peers = append(peers, peertest.Start(t, cfgs[2], multiphase.New))
	for _, p := range peers {
		locktest.Release(t, locktest.Acquire(t, p, "x"))
	}
	must.Do(t, peers[2].Close()) // a peer that has once been connected to all needs them no more
	locktest.Release(t, locktest.Acquire(t, peers[0], "x"))
}

// cuttable is a cluster whose connections go through links, by pair of ranks.
func cuttable(tb testing.TB, n int) ([]multiphase.Locker, map[[2]int]*locktest.Link) {
	tb.Helper()
	cfgs := peertest.Configs(tb, n, multiphase.DefaultOptions())
	links := peertest.Cuttable(tb, cfgs)
	return peertest.StartAll(tb, cfgs, multiphase.New), links
}

// TestPartitionSplitsAndHeals shows what is inherent: both sides of a cut hold. As
// soon as it has healed there is one holder again.
func TestPartitionSplitsAndHeals(t *testing.T) {
	all, links := cuttable(t, 2)
	link := links[[2]int{0, 1}]
	link.Cut(true)
	peertest.AwaitLink(t, all[0], "p1", false)
	peertest.AwaitLink(t, all[1], "p0", false)
	leases := []locks.Lease{locktest.Acquire(t, all[0], "split"), locktest.Acquire(t, all[1], "split")}
	link.Cut(false)
	peertest.AwaitLink(t, all[0], "p1", true)
	peertest.AwaitLink(t, all[1], "p0", true)
	locktest.Release(t, leases[0])
	next := locktest.Later(t, all[0], "split")
	if signals.Closed(leases[1].Lost()) {
		t.Error("there is nothing by which the other side could know")
	}
	locktest.Release(t, leases[1])
	locktest.Release(t, <-next)
}

// TestChaos breaks one link after the other, at most one at a time, while everybody
// works and gives up: never two holders, and in the end all can go on.
func TestChaos(t *testing.T) {
	all, links := cuttable(t, 3)
	ctx, stop := context.WithCancel(locktest.Within(t))
	var inside [5]atomic.Int64 // how many hold each resource
	var held atomic.Int64      // how often anything was
	once := func(l multiphase.Locker, name int, patience time.Duration) {
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		lease, err := l.Acquire(wait, fmt.Sprint(name))
		if err != nil {
			return
		}
		held.Add(1)
		if n := inside[name].Add(1); n != 1 {
			t.Errorf("%d holders of resource %d", n, name)
		}
		runtime.Gosched() // lets an intruder in
		inside[name].Add(-1)
		locktest.Release(t, lease)
	}
	var working sync.WaitGroup
	for i := range 12 {
		rand := seed.Seed(i).Rand()
		working.Go(func() {
			for ctx.Err() == nil {
				once(all[i%3], rand.IntN(len(inside)), time.Duration(rand.Int64N(int64(20*time.Millisecond))))
			}
		})
	}
	for round := range 3 {
		for pair, k := range links {
			i, j := pair[0], pair[1]
			for _, cut := range []bool{true, false} {
				k.Cut(cut)
				peertest.AwaitLink(t, all[i], fmt.Sprint("p", j), !cut)
				peertest.AwaitLink(t, all[j], fmt.Sprint("p", i), !cut)
			}
			before := held.Load()
			locktest.Eventually(t, fmt.Sprintf("work goes on in round %d", round), func() bool { return held.Load() > before })
		}
	}
	stop()
	working.Wait()
	for _, l := range all {
		for name := range len(inside) {
			locktest.Release(t, locktest.Acquire(t, l, fmt.Sprint(name)))
		}
	}
}
