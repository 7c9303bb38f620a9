package multiphase_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/mesh"
	"locklab/locks/multiphase"
	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/seed"
)

func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

func acquire(tb testing.TB, l *multiphase.Locker, name string) locks.Lease {
	tb.Helper()
	lease, err := l.Acquire(within(tb), name)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

func release(tb testing.TB, lease locks.Lease) {
	tb.Helper()
	if err := lease.Release(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// until waits for a condition that has no event to wait for.
func until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx := within(tb)
	for !holds() {
		timer := clock.System().NewTimer(time.Millisecond)
		select {
		case <-timer.C():
		case <-ctx.Done():
			tb.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func TestMessagesPerAcquisition(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		all := cluster(t, n, nil)
		const times = 10
		for range times {
			release(t, acquire(t, all[n-1], "counted"))
		}
		until(t, fmt.Sprintf("%d peers send 3(N-1) messages an acquisition", n), func() bool {
			total := uint64(0)
			for _, l := range all {
				total += l.MessagesSent()
			}
			return total == times*3*uint64(n-1)
		})
	}
}

// TestCohortServesLocalWaiters queues callers behind a holder and counts messages.
func TestCohortServesLocalWaiters(t *testing.T) {
	const callers = 12
	for text, acquisitions := range map[string]uint64{
		"multiphase":                 1 + callers,
		"multiphase:cohort,cohort=4": 4, // 1+3, 4, 4, 1
	} {
		// The clocks stand still, so that no cohort ends early.
		options := parse(t, text)
		all := cluster(t, 2, func(c *multiphase.Config) { c.Options, c.Clock = options, frozen{clock.System()} })
		first := acquire(t, all[0], "x")
		var wg sync.WaitGroup
		for range callers {
			started := make(chan struct{})
			wg.Go(func() {
				close(started)
				lease, err := all[0].Acquire(within(t), "x")
				if err != nil {
					t.Error(err)
					return
				}
				release(t, lease)
			})
			<-started
		}
		until(t, "all wait", func() bool { return all[0].Claims("x") == 1+callers })
		release(t, first)
		wg.Wait()
		until(t, fmt.Sprintf("%s: %d callers take %d acquisitions", text, 1+callers, acquisitions), func() bool {
			return all[0].MessagesSent()+all[1].MessagesSent() == 3*acquisitions
		})
	}
}

// frozen is a clock whose timers work and whose time does not pass.
type frozen struct{ clock.Clock }

func (frozen) Now() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }

// TestThousandsInFlight has every peer want every name at once.
func TestThousandsInFlight(t *testing.T) {
	all := cluster(t, 3, nil)
	const names = 2000
	inside := make([]atomic.Int32, names)
	var wg sync.WaitGroup
	ctx := within(t)
	for _, l := range all {
		for i := range names {
			wg.Go(func() {
				lease, err := l.Acquire(ctx, fmt.Sprintf("name/%d", i))
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside[i].Add(1); n != 1 {
					t.Errorf("%d holders of name %d", n, i)
				}
				inside[i].Add(-1)
				if err := lease.Release(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func TestConformsWithTheRulesThatNeedNoFault(t *testing.T) {
	for _, text := range []string{"multiphase:fair=off", "multiphase:view=off", "multiphase:cohort", "multiphase:cohort,cohort=2"} {
		t.Run(text, func(t *testing.T) {
			options := parse(t, text)
			locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
				return lockers(cluster(tb, 3, func(c *multiphase.Config) { c.Options = options }))
			}})
		})
	}
}

func parse(tb testing.TB, text string) multiphase.Options {
	tb.Helper()
	spec, err := locks.ParseSpec(text)
	if err != nil {
		tb.Fatal(err)
	}
	o, err := multiphase.ParseOptions(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestOptions(t *testing.T) {
	o := parse(t, "multiphase:rule=literal,fair=off,view=off,rounds=off")
	if o.Rules != (core.Options{Rule: core.RuleLiteral}) {
		t.Errorf("got %+v", o)
	}
	if got := parse(t, "multiphase"); got != multiphase.DefaultOptions() || got.String() != "multiphase:fair=on,rounds=on,rule=flow,view=on" {
		t.Errorf("got %v", got)
	}
	if parse(t, o.String()) != o {
		t.Errorf("%v is not what it says", o)
	}
	for _, bad := range []string{"multiphase:rule=x", "multiphase:nosuch", "multiphase:cohort=4", "multiphase:quorum,rule=flow", "multiphase:quorum,ttl=1ms", "multiphase:quorum,cohort=2000", "multiphase:fair=1", "multiphase:ttl=1s", "redlock"} {
		spec, err := locks.ParseSpec(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := multiphase.ParseOptions(spec); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", bad, err)
		}
	}
}

func TestDifferentOptionsAreRefused(t *testing.T) {
	a, b := pair(t, func(c *multiphase.Config) {
		if c.Rank == 1 {
			c.Options = parse(t, "multiphase:fair=off")
		}
	})
	until(t, "both say why", func() bool {
		return strings.Contains(fmt.Sprint(a.Peers()[0].Problem), "fair=off") && !b.Peers()[0].Up
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := a.Ready(ctx)
	if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "fair=off") {
		t.Errorf("Ready should say why: %v", err)
	}
}

// pair is two peers that have not waited for each other.
func pair(tb testing.TB, change func(*multiphase.Config)) (a, b *multiphase.Locker) {
	tb.Helper()
	var ls [2]net.Listener
	for i := range ls {
		var err error
		if ls[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			tb.Fatal(err)
		}
	}
	var all [2]*multiphase.Locker
	for i := range all {
		other := 1 - i
		cfg := multiphase.Config{
			ID: fmt.Sprintf("p%d", i), Rank: i, Listener: ls[i],
			Peers: []multiphase.Peer{{ID: fmt.Sprintf("p%d", other), Rank: other, Addr: ls[other].Addr().String()}},
		}
		if change != nil {
			change(&cfg)
		}
		var err error
		if all[i], err = multiphase.New(cfg); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = all[i].Close() })
	}
	return all[0], all[1]
}

func TestAloneBeforeTheMeshHasFormed(t *testing.T) {
	// An address where nobody is.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	for _, alone := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		options := multiphase.DefaultOptions()
		options.Alone = alone
		p, err := multiphase.New(multiphase.Config{
			ID: "a", Rank: 0, Listener: l, Options: options, Peers: []multiphase.Peer{{ID: "b", Rank: 1, Addr: gone}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if !alone {
			until(t, "the dial has failed", func() bool { return p.Peers()[0].Problem != nil })
			clock.System().AfterFunc(10*time.Millisecond, cancel)
		}
		lease, err := p.Acquire(ctx, "x")
		switch {
		case alone && err != nil:
			t.Errorf("started alone: %v", err)
		case alone:
			release(t, lease)
		case !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !errors.Is(err, context.Canceled):
			t.Errorf("want ErrNotAcquired, ErrUnavailable and Canceled, got %v", err)
		}
		cancel()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAcquireBeforeTheMeshHasFormed: a pair of three peers may be one of two sides, each of
// which would let one of its own in.
func TestAcquireBeforeTheMeshHasFormed(t *testing.T) {
	configs := peertest.Configs(t, 3, multiphase.DefaultOptions())
	var peers []*multiphase.Locker
	begin := func(cfg multiphase.Config) {
		p, err := multiphase.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		peers = append(peers, p)
	}
	begin(configs[0])
	begin(configs[1])
	for i, p := range peers {
		until(t, "the pair is connected", func() bool { return p.Peers()[0].Up })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := p.Acquire(ctx, "x")
		if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), configs[2].ID) {
			t.Errorf("peer %d: want ErrNotAcquired and ErrUnavailable that name %s, got %v", i, configs[2].ID, err)
		}
	}
	begin(configs[2])
	for _, p := range peers {
		lease, err := p.Acquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		release(t, lease)
	}
	if err := peers[2].Close(); err != nil { // who has once been connected to all needs them no more
		t.Fatal(err)
	}
	lease, err := peers[0].Acquire(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	release(t, lease)
}

// link is a TCP forwarder that can be cut.
type link struct {
	net.Listener
	wg    sync.WaitGroup
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newLink(tb testing.TB, target string) *link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	k := &link{Listener: l}
	k.wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				_ = in.Close()
				continue
			}
			k.mu.Lock()
			if k.cut {
				_, _ = in.Close(), out.Close()
			}
			k.conns = append(k.conns, in, out)
			k.mu.Unlock()
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				k.wg.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				})
			}
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		k.set(true)
		k.wg.Wait()
	})
	return k
}

func (k *link) set(cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cut = cut; cut {
		for _, c := range k.conns {
			_ = c.Close()
		}
		k.conns = nil
	}
}

// cuttable is a cluster whose connections go through links, by pair of ranks.
func cuttable(tb testing.TB, n int) ([]*multiphase.Locker, map[[2]int]*link) {
	links := map[[2]int]*link{}
	all := cluster(tb, n, func(c *multiphase.Config) {
		for i, p := range c.Peers {
			if p.Rank > c.Rank {
				k := newLink(tb, p.Addr)
				links[[2]int{c.Rank, p.Rank}] = k
				c.Peers[i].Addr = k.Addr().String()
			}
		}
	})
	return all, links
}

func up(l *multiphase.Locker) int {
	n := 0
	for _, p := range l.Peers() {
		if p.Up {
			n++
		}
	}
	return n
}

// TestPartitionSplitsAndHeals shows what is inherent: both sides of a cut hold. As
// soon as it has healed there is one holder again.
func TestPartitionSplitsAndHeals(t *testing.T) {
	all, links := cuttable(t, 2)
	links[[2]int{0, 1}].set(true)
	until(t, "both notice the cut", func() bool { return up(all[0])+up(all[1]) == 0 })
	leases := []locks.Lease{acquire(t, all[0], "split"), acquire(t, all[1], "split")}
	links[[2]int{0, 1}].set(false)
	until(t, "both are back", func() bool { return up(all[0])+up(all[1]) == 2 })
	got := make(chan locks.Lease, 1)
	release(t, leases[0])
	go func() {
		lease, err := all[0].Acquire(context.Background(), "split")
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	select {
	case <-leases[1].Lost():
		t.Error("there is nothing by which the other side could know")
	default:
	}
	release(t, leases[1])
	release(t, <-got)
}

// TestHolderIsSafeWhileAThirdPeerSeesBothSides cuts one link of three: the view
// rule keeps the third from letting both in.
func TestHolderIsSafeWhileAThirdPeerSeesBothSides(t *testing.T) {
	all, links := cuttable(t, 3)
	held := acquire(t, all[0], "x")
	links[[2]int{0, 1}].set(true)
	until(t, "both ends notice", func() bool { return up(all[0]) == 1 && up(all[1]) == 1 })
	got := make(chan locks.Lease, 1)
	go func() {
		lease, err := all[1].Acquire(context.Background(), "x")
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	before := all[1].MessagesSent()
	until(t, "1 asks 2", func() bool { return all[1].MessagesSent() >= before })
	select {
	case <-got:
		t.Fatal("two holders, with a peer that sees both")
	default:
	}
	links[[2]int{0, 1}].set(false)
	until(t, "the link is back", func() bool { return up(all[0]) == 2 && up(all[1]) == 2 })
	select {
	case <-got:
		t.Fatal("two holders after the link is back")
	default:
	}
	release(t, held)
	release(t, <-got)
}

// TestChaos breaks one link after the other, at most one at a time, while everybody
// works and gives up: never two holders, and in the end all can go on.
func TestChaos(t *testing.T) {
	all, links := cuttable(t, 3)
	const names = 5
	inside := make([]atomic.Int32, names)
	ctx, stop := context.WithCancel(within(t))
	var acquired atomic.Int64
	var wg sync.WaitGroup
	for i, l := range all {
		for w := range 4 {
			rand := seed.Seed(1).Child(fmt.Sprintf("worker %d/%d", i, w)).Rand()
			wg.Go(func() {
				for ctx.Err() == nil {
					name := rand.IntN(names)
					tryCtx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20)+1)*time.Millisecond)
					lease, err := l.Acquire(tryCtx, fmt.Sprint(name))
					cancel()
					if err != nil {
						continue
					}
					acquired.Add(1)
					if n := inside[name].Add(1); n != 1 {
						t.Errorf("%d holders", n)
					}
					inside[name].Add(-1)
					if err := lease.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for round := range 3 {
		for pair, k := range links {
			i, j := pair[0], pair[1]
			k.set(true)
			until(t, "the cut is noticed", func() bool { return up(all[i]) == 1 && up(all[j]) == 1 })
			k.set(false)
			until(t, "the link is back", func() bool { return up(all[i]) == 2 && up(all[j]) == 2 })
			before := acquired.Load()
			until(t, fmt.Sprintf("work goes on in round %d", round), func() bool { return acquired.Load() > before })
		}
	}
	stop()
	wg.Wait()
	for _, l := range all {
		for name := range names {
			release(t, acquire(t, l, fmt.Sprint(name)))
		}
	}
}

func TestTooManyResources(t *testing.T) {
	all := cluster(t, 2, func(c *multiphase.Config) {
		if c.Rank == 0 {
			c.Resources = 16 // one for each shard
		}
	})
	for i := range 100 { // one after the other is no trouble
		release(t, acquire(t, all[0], fmt.Sprintf("passing/%d", i)))
	}
	ctx := within(t)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = all[0].Acquire(ctx, fmt.Sprintf("kept/%d", i))
	}
	if !errors.Is(err, locks.ErrUnavailable) || !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("want ErrUnavailable and ErrNotAcquired, got %v", err)
	}
}

// TestNothingWaitsForAHeartbeat works hard on connections that carry no heartbeat:
// a message that nobody flushed would never arrive.
func TestNothingWaitsForAHeartbeat(t *testing.T) {
	all := cluster(t, 3, func(c *multiphase.Config) {
		c.Timing = mesh.Timing{Heartbeat: time.Hour, SilenceMin: 3 * time.Hour, SilenceMax: 3 * time.Hour}
	})
	var wg sync.WaitGroup
	ctx := within(t)
	for i, l := range all {
		for w := range 40 {
			wg.Go(func() {
				for k := range 200 {
					// Some names are a worker's own, some are everybody's.
					name := fmt.Sprintf("own/%d/%d", i, w)
					if k%8 == 0 {
						name = fmt.Sprintf("shared/%d", w)
					}
					lease, err := l.Acquire(ctx, name)
					if err != nil {
						t.Error(err)
						return
					}
					if err := lease.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
