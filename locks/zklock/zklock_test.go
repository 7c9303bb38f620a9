package zklock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/posix"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/zklock"
)

func TestConforms(t *testing.T) {
	e := startEnsemble(t, 3)
	for name, all := range map[string]bool{"watch=previous": false, "watch=all": true} {
		o := zklock.DefaultOptions()
		o.WatchAll = all
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, locktest.Clients(o.Session, nil, func(tb testing.TB, clk clock.Clock) *zklock.Locker {
				o := o
				if !strings.Contains(tb.Name(), "crashed") { // the one check that waits for the end of a session
					o.Session = 10 * time.Second
				}
				return newClient(tb, e.addrs, clk, o)
			}))
		})
	}
}

// patient are options of a session that a machine without a free CPU does not end.
func patient() zklock.Options {
	o := zklock.DefaultOptions()
	o.Session = 30 * time.Second
	return o
}

// TestLostBeforeAnotherHolds: a holder that is cut off is told before its session ends at the
// servers, and what it writes after that can be refused.
func TestLostBeforeAnotherHolds(t *testing.T) {
	e := startEnsemble(t, 3)
	for name, break_ := range map[string]func(*locktest.Link){
		"cut": func(l *locktest.Link) { l.Cut(true) }, "held": func(l *locktest.Link) { l.Hold(true) },
	} {
		t.Run(name, func(t *testing.T) {
			links, addrs := locktest.Links(t, e.addrs)
			holder, waiter := newClient(t, addrs, nil, zklock.DefaultOptions()), newClient(t, e.addrs, nil, patient())
			locktest.LostBefore(t, holder, waiter, func() {
				for _, l := range links {
					break_(l)
				}
			})
		})
	}
}

// TestTheHolderNoticesFirst: a session that a client no longer believes in, and that its servers
// still keep, is closed only when whoever held has had the margin to notice.
func TestTheHolderNoticesFirst(t *testing.T) {
	e := startEnsemble(t, 1)
	o := zklock.DefaultOptions()
	o.Session = 6 * time.Second
	clk := &locktest.Leaping{Caught: o.Session / 20, Timers: make(chan func(), 1)}
	holder, waiter := newClient(t, e.addrs, clk, o), newClient(t, e.addrs, nil, patient())
	locktest.NoticesFirst(t, holder, waiter, clk, o.Session*5/6)
}

// TestGrantedTooLate: the process stands still while its claim is answered, for longer than its session
// lasts. What renews the session has not noticed when it goes on. What it is granted then is no grant, and
// whoever else holds in this session has the margin to notice.
func TestGrantedTooLate(t *testing.T) {
	e := startEnsemble(t, 1)
	link := locktest.NewLink(t, e.addrs[0])
	o := patient()
	clk := &locktest.Leaping{Caught: o.Session / 20, Timers: make(chan func(), 1)} // the margin
	l := newClient(t, []string{link.Addr()}, clk, o)
	held := locktest.Acquire(t, l, "held")
	next := locktest.Later(t, newClient(t, e.addrs, nil, o), "held")
	link.Hold(true)
	got := locktest.Later(t, l, "r")
	clk.Leap(2 * o.Session)
	link.Hold(false)
	locktest.AwaitLost(t, held)
	fire := <-clk.Timers
	if len(next) > 0 {
		t.Error("another client holds before the first one has had the time to notice")
	}
	fire()
	locktest.Release(t, <-next)
	lease := <-got
	if until, _ := lease.Expires(); !clk.Now().Before(until) {
		t.Errorf("granted at %v, to %v", clk.Now(), until)
	}
	locktest.Release(t, lease)
}

// TestAShorterSession than was asked for, as servers allow no longer one, is renewed in time.
func TestAShorterSession(t *testing.T) {
	e := startEnsemble(t, 1, "maxSessionTimeout=3000")
	held := locktest.Acquire(t, newClient(t, e.addrs, nil, patient()), "r")
	first, _ := held.Expires()
	locktest.Eventually(t, "the session is renewed for as long again, or lost", func() bool {
		until, _ := held.Expires()
		return signals.Closed(held.Lost()) || until.After(first.Add(3*time.Second))
	})
	locktest.Release(t, held)
}

// TestAShorterSessionSurvivesAServer: a timeout that is longer than the granted session does not lose it when
// the client's server falls silent.
func TestAShorterSessionSurvivesAServer(t *testing.T) {
	e := startEnsemble(t, 3, "maxSessionTimeout=6000")
	links, addrs := locktest.Links(t, e.addrs)
	o := patient()
	o.Timeout = 10 * time.Second
	held := locktest.Acquire(t, newClient(t, addrs, nil, o), "r")
	for i, link := range links { // the client is connected over one of them
		link.Hold(true)
		before, _ := held.Expires()
		locktest.Eventually(t, "the session is renewed, or lost", func() bool {
			until, _ := held.Expires()
			return signals.Closed(held.Lost()) || until.After(before.Add(6*time.Second))
		})
		if signals.Closed(held.Lost()) {
			t.Fatalf("server %d fell silent, and the session was lost", i)
		}
		link.Hold(false)
	}
	locktest.Release(t, held)
}

// TestSurvivesAServer: a client whose server is gone goes on with another one, in the same
// session, and what it held is still held.
func TestSurvivesAServer(t *testing.T) {
	e := startEnsemble(t, 3)
	links, addrs := locktest.Links(t, e.addrs)
	l := newClient(t, addrs, nil, patient())
	held := locktest.Acquire(t, l, "held")
	for i, break_ := range []func(*locktest.Link){func(l *locktest.Link) { l.Cut(true) }, func(l *locktest.Link) { l.Hold(true) }, func(*locktest.Link) {}} {
		break_(links[i])
		le := locktest.Acquire(t, l, "other")
		locktest.Release(t, le)
		links[i].Hold(false)
		links[i].Cut(false)
	}
	if signals.Closed(held.Lost()) {
		t.Error("the session did not outlive its connection")
	}
	locktest.Release(t, held)
}

// TestNothingStaysBehind: whatever becomes of connections, a claim whose creation or deletion
// was not answered is found out about, within the session that made it.
func TestNothingStaysBehind(t *testing.T) {
	e := startEnsemble(t, 1)
	link := locktest.NewLink(t, e.addrs[0])
	o := patient()
	o.Timeout = 200 * time.Millisecond
	l := newClient(t, []string{link.Addr()}, nil, o)
	held := locktest.Acquire(t, l, "held")
	var working sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	for range 4 {
		working.Go(func() {
			for ctx.Err() == nil {
				le, err := l.Acquire(ctx, "r")
				if err != nil {
					continue // its time was over
				}
				locktest.Release(t, le)
			}
		})
	}
	for again := true; again; again = clock.Sleep(ctx, 20*time.Millisecond) == nil {
		link.Cut(true)
		link.Cut(false)
		if clock.Sleep(ctx, 200*time.Millisecond) == nil {
			link.Hold(true)
			_ = clock.Sleep(ctx, 50*time.Millisecond)
			link.Hold(false)
		}
	}
	working.Wait()
	look := e.connect(t)
	wait, cancel := context.WithTimeout(t.Context(), o.Session/2) // before the session could have tidied up
	defer cancel()
	for left := []string{""}; len(left) > 0; {
		var err error
		if left, _, err = look.Children("/locklab/@r"); errors.Is(err, zk.ErrNoNode) {
			break
		}
		if clock.Sleep(wait, 10*time.Millisecond) != nil {
			t.Fatalf("%q stay behind (%v)", left, err)
		}
	}
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("the session did not outlive its connections: %v", err)
	}
}

func TestNoQuorum(t *testing.T) {
	e := startEnsemble(t, 3)
	client := func(o zklock.Options) func() *zklock.Locker {
		return func() *zklock.Locker { return newClient(t, e.addrs, nil, o) }
	}
	locktest.NoQuorum(t, client(zklock.DefaultOptions()), client(patient()),
		func() { e.signal(t, posix.SIGSTOP) }, func() { e.signal(t, posix.SIGCONT) })
}

// TestHerd: with watch=all a release wakes everybody who waits, else only the next one.
func TestHerd(t *testing.T) {
	e := startEnsemble(t, 1)
	const waiters = 16
	woken := map[bool]uint64{}
	for _, all := range []bool{false, true} {
		o := patient()
		o.WatchAll = all
		l := newClient(t, e.addrs, nil, o)
		first := locktest.Acquire(t, l, "herd")
		got := make(chan locks.Lease)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range waiters {
			go func() {
				le, err := l.Acquire(ctx, "herd")
				if err != nil {
					t.Error(err)
				}
				got <- le
			}()
		}
		look := e.connect(t)
		locktest.Eventually(t, "all wait in line", func() bool {
			names, _, err := look.Children("/locklab/@herd")
			return err == nil && len(names) == waiters+1
		})
		// Most look at who is before them by now. Who is slower is woken less often.
		var before uint64
		locktest.Eventually(t, "nobody asks any more", func() bool {
			last := before
			before = l.MessagesSent()
			return clock.Sleep(ctx, 100*time.Millisecond) != nil || before == last
		})
		before = l.Wakeups()
		locktest.Release(t, first)
		for range waiters {
			if le := <-got; le != nil {
				locktest.Release(t, le)
			}
		}
		woken[all] = l.Wakeups() - before
	}
	t.Logf("wake-ups of %d releases with up to %d waiters: %d, with watch=all %d", waiters, waiters, woken[false], woken[true])
	if n := woken[false]; n < waiters/4 || n > waiters {
		t.Errorf("%d wake-ups of %d releases: want at most one for each, and some", n, waiters)
	}
	// Nearly n(n+1)/2: one who is slow misses what came while it looked.
	if woken[true] < 2*waiters {
		t.Errorf("watch=all: %d wake-ups of %d releases: where is the herd?", woken[true], waiters)
	}
}

// TestTokensBeginAgain where the servers have lost their data: what the resource has seen says
// nothing any more. The lab refuses scenarios in which ZooKeeper's servers do.
func TestTokensBeginAgain(t *testing.T) {
	e := startEnsemble(t, 1)
	l := newClient(t, e.addrs, nil, patient())
	var before locks.Token
	for range 10 {
		lease := locktest.Acquire(t, l, "r")
		before, _ = lease.Token()
		locktest.Release(t, lease)
	}
	e.forget(t, 0)
	after, _ := locktest.Acquire(t, newClient(t, e.addrs, nil, patient()), "r").Token()
	if after >= before {
		t.Errorf("token %d after %d: the servers did not forget", after, before)
	}
}

func TestOptions(t *testing.T) {
	locktest.Specs(t, zklock.ParseOptions, map[string]string{
		"zookeeper": "", "zookeeper:session=5s,timeout=100ms,watch=all": "", "zookeeper:session=1s": "from 2.5s",
		"zookeeper:timeout=2s": "half of the session", "zookeeper:watch=none": "one of previous, all", "zookeeper:big": "unknown variant",
	})
}
