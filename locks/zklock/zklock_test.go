package zklock_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/zklock"
	"locklab/locks/zklock/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(tb testing.TB, addrs []string, o zklock.Options) *zklock.Locker {
	tb.Helper()
	return locktest.Open(tb, zklock.New(zklock.Config{Addrs: addrs, Options: o}), nil)
}

func TestConforms(t *testing.T) {
	e := zktest.Start(t, 3)
	for name, all := range map[string]bool{"watch=previous": false, "watch=all": true} {
		o := zklock.DefaultOptions()
		o.WatchAll, o.Session = all, 10*time.Second
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, locktest.Subject{CloseFreesWithin: 2 * o.Session, New: func(tb testing.TB) (all []locks.Locker) {
				for range 3 {
					all = append(all, newClient(tb, e.Addrs, o))
				}
				return all
			}})
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
	e := zktest.Start(t, 3)
	for name, break_ := range map[string]func(*locktest.Link){
		"cut": func(l *locktest.Link) { l.Cut(true) }, "held": func(l *locktest.Link) { l.Hold(true) },
	} {
		t.Run(name, func(t *testing.T) {
			links, addrs := locktest.Links(t, e.Addrs)
			holder, waiter := newClient(t, addrs, zklock.DefaultOptions()), newClient(t, e.Addrs, patient())
			first := locktest.Acquire(t, holder, "r")
			for _, l := range links {
				break_(l)
			}
			second := locktest.Acquire(t, waiter, "r")
			if !signals.Closed(first.Lost()) {
				t.Error("another client holds, and the first one was not told that it does not")
			}
			before, _ := first.Token()
			if after, _ := second.Token(); after <= before {
				t.Errorf("token %d after %d: the resource could not refuse the first holder", after, before)
			}
			if err := first.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("release after the loss: %v", err)
			}
			locktest.Release(t, second)
		})
	}
}

// TestSurvivesAServer: a client whose server is gone goes on with another one, in the same
// session, and what it held is still held.
func TestSurvivesAServer(t *testing.T) {
	e := zktest.Start(t, 3)
	links, addrs := locktest.Links(t, e.Addrs)
	l := newClient(t, addrs, patient())
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
	e := zktest.Start(t, 1)
	link := locktest.NewLink(t, e.Addrs[0])
	o := patient()
	l := newClient(t, []string{link.Addr()}, o)
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
	look := zktest.Connect(t, e.Addrs)
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

// TestNoQuorum stops the servers: nothing is granted, what was asked for in vain is unknown at worst,
// the holder is told, and nothing stays behind for who comes after.
func TestNoQuorum(t *testing.T) {
	e := zktest.Start(t, 3)
	l := newClient(t, e.Addrs, zklock.DefaultOptions())
	held := locktest.Acquire(t, l, "held")
	e.Signal(t, syscall.SIGSTOP)
	if err := locktest.Refused(t, l, "r", 2*time.Second); !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire without a quorum, with a session: %v", err)
	}
	without := newClient(t, e.Addrs, zklock.DefaultOptions())
	if err := locktest.Refused(t, without, "r", 2*time.Second); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("acquire without a quorum, and without a session: %v", err)
	}
	locktest.AwaitLost(t, held)
	e.Signal(t, syscall.SIGCONT)
	locktest.Release(t, locktest.Acquire(t, newClient(t, e.Addrs, patient()), "r"))
}

// TestHerd: with watch=all a release wakes everybody who waits, else only the next one.
func TestHerd(t *testing.T) {
	e := zktest.Start(t, 1)
	const waiters = 16
	woken := map[bool]uint64{}
	for _, all := range []bool{false, true} {
		o := patient()
		o.WatchAll = all
		l := newClient(t, e.Addrs, o)
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
		look := zktest.Connect(t, e.Addrs)
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
	e := zktest.Start(t, 1)
	l := newClient(t, e.Addrs, patient())
	var before locks.Token
	for range 10 {
		lease := locktest.Acquire(t, l, "r")
		before, _ = lease.Token()
		locktest.Release(t, lease)
	}
	e.Forget(t, 0)
	after, _ := locktest.Acquire(t, newClient(t, e.Addrs, patient()), "r").Token()
	if after >= before {
		t.Errorf("token %d after %d: the servers did not forget", after, before)
	}
}

func TestOptions(t *testing.T) {
	locktest.Specs(t, zklock.ParseOptions, map[string]string{
		"zookeeper": "", "zookeeper:session=5s,watch=all": "", "zookeeper:session=1s": "from 2.5s",
		"zookeeper:timeout=2s": `unknown option "timeout"`, "zookeeper:watch=none": "one of previous, all", "zookeeper:big": "unknown variant",
	})
}
