package multiphase_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

// TestCohortServesLocalWaiters queues callers behind a holder and counts messages.
func TestCohortServesLocalWaiters(t *testing.T) {
	const callers = 12
	for text, acquisitions := range map[string]uint64{
		"multiphase":                 1 + callers,
		"multiphase:cohort,cohort=4": 4, // 1+3, 4, 4, 1
	} {
		// The clocks stand still, so that no cohort ends early.
		options := locktest.Options(t, multiphase.ParseOptions, text)
		all := cluster(t, 2, func(c *multiphase.Config) { c.Options, c.Clock = options, frozen{clock.System()} })
		first := locktest.Acquire(t, all[0], "x")
		var wg sync.WaitGroup
		ctx := locktest.Within(t)
		for range callers {
			wg.Go(func() {
				lease, err := all[0].Acquire(ctx, "x")
				if err == nil {
					err = lease.Release(ctx)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		locktest.Eventually(t, "all wait", func() bool { return all[0].Claims("x") == 1+callers })
		locktest.Release(t, first)
		wg.Wait()
		locktest.Eventually(t, fmt.Sprintf("%s: %d callers take %d acquisitions", text, 1+callers, acquisitions), func() bool {
			return all[0].MessagesSent()+all[1].MessagesSent() == 3*acquisitions
		})
	}
}

// frozen is a clock whose timers work and whose time does not pass.
type frozen struct{ clock.Clock }

func (frozen) Now() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }

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

// TestAloneBeforeTheMeshHasFormed starts one of two peers.
func TestAloneBeforeTheMeshHasFormed(t *testing.T) {
	for _, alone := range []bool{false, true} {
		options := multiphase.DefaultOptions()
		options.Alone = alone
		cfgs := peertest.Configs(t, 2, options)
		_ = cfgs[1].Listener.Close()
		p := peertest.Start(t, cfgs[0], multiphase.New)
		if alone {
			locktest.Release(t, locktest.Acquire(t, p, "x"))
			continue
		}
		locktest.Eventually(t, "the dial has failed", func() bool { return p.Peers()[0].Problem != nil })
		if err := locktest.Refused(t, p, "x", 100*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("want ErrNotAcquired, ErrUnavailable and DeadlineExceeded, got %v", err)
		}
	}
}

// TestAcquireBeforeTheMeshHasFormed: a pair of three peers may be one of two sides, each of
// which would let one of its own in.
func TestAcquireBeforeTheMeshHasFormed(t *testing.T) {
	cfgs := peertest.Configs(t, 3, multiphase.DefaultOptions())
	peers := []*multiphase.Locker{peertest.Start(t, cfgs[0], multiphase.New), peertest.Start(t, cfgs[1], multiphase.New)}
	for i, p := range peers {
		peertest.AwaitLink(t, p, cfgs[1-i].ID, true)
		err := locktest.Refused(t, p, "x", 100*time.Millisecond)
		if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), cfgs[2].ID) {
			t.Errorf("peer %d: want ErrNotAcquired and ErrUnavailable that name %s, got %v", i, cfgs[2].ID, err)
		}
	}
	peers = append(peers, peertest.Start(t, cfgs[2], multiphase.New))
	for _, p := range peers {
		locktest.Release(t, locktest.Acquire(t, p, "x"))
	}
	if err := peers[2].Close(); err != nil { // who has once been connected to all needs them no more
		t.Fatal(err)
	}
	locktest.Release(t, locktest.Acquire(t, peers[0], "x"))
}

// cuttable is a cluster whose connections go through links, by pair of ranks.
func cuttable(tb testing.TB, n int) ([]*multiphase.Locker, map[[2]int]*locktest.Link) {
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

// TestHolderIsSafeWhileAThirdPeerSeesBothSides cuts one link of three: the view
// rule keeps the third from letting both in.
func TestHolderIsSafeWhileAThirdPeerSeesBothSides(t *testing.T) {
	all, links := cuttable(t, 3)
	held := locktest.Acquire(t, all[0], "x")
	links[[2]int{0, 1}].Cut(true)
	peertest.AwaitLink(t, all[0], "p1", false)
	peertest.AwaitLink(t, all[1], "p0", false)
	before := all[1].MessagesSent()
	next := locktest.Later(t, all[1], "x")
	nobody := func(when string) {
		t.Helper()
		select {
		case <-next:
			t.Fatalf("two holders, %s", when)
		default:
		}
	}
	locktest.Eventually(t, "1 asks 2", func() bool { return all[1].MessagesSent() > before })
	nobody("with a peer that sees both")
	links[[2]int{0, 1}].Cut(false)
	peertest.AwaitLink(t, all[0], "p1", true)
	peertest.AwaitLink(t, all[1], "p0", true)
	nobody("after the link is back")
	locktest.Release(t, held)
	locktest.Release(t, <-next)
}

// TestChaos breaks one link after the other, at most one at a time, while everybody
// works and gives up: never two holders, and in the end all can go on.
func TestChaos(t *testing.T) {
	all, links := cuttable(t, 3)
	ctx, stop := context.WithCancel(locktest.Within(t))
	work := peertest.Work{
		Callers: 4, Rounds: math.MaxInt, Names: 5,
		Patience: func(rand *rand.Rand) time.Duration { return time.Duration(rand.IntN(20)+1) * time.Millisecond },
		Refused:  func(error) {},
	}
	var working sync.WaitGroup
	working.Go(func() { peertest.Contend(ctx, t, all, &work) })
	for round := range 3 {
		for pair, k := range links {
			i, j := pair[0], pair[1]
			for _, cut := range []bool{true, false} {
				k.Cut(cut)
				peertest.AwaitLink(t, all[i], fmt.Sprint("p", j), !cut)
				peertest.AwaitLink(t, all[j], fmt.Sprint("p", i), !cut)
			}
			before := work.Held.Load()
			locktest.Eventually(t, fmt.Sprintf("work goes on in round %d", round), func() bool { return work.Held.Load() > before })
		}
	}
	stop()
	working.Wait()
	for _, l := range all {
		for name := range work.Names {
			locktest.Release(t, locktest.Acquire(t, l, fmt.Sprint(name)))
		}
	}
}
