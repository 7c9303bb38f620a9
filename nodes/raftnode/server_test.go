package raftnode_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/internal/metrics/metricstest"
	"locklab/internal/must"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
)

// long is a lease that does not end within a test, unless it should.
const long = time.Minute

func token(t *testing.T, l locks.Lease) locks.Token {
	t.Helper()
	token, ok := l.Token()
	if !ok || token == 0 {
		t.Fatal("a raft lease has a fencing token")
	}
	return token
}

func mustHold(t *testing.T, l locks.Lease) {
	t.Helper()
	if signals.Closed(l.Lost()) {
		t.Fatal("the lease was lost")
	}
}

func TestHolderAndWaiterSurviveTheLeadersDeath(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{})
	holder, waiter := c.locker(long), c.locker(long)
	held := locktest.Acquire(t, holder, "r")

	granted := make(chan locks.Lease, 1)
	go func() {
		lease, err := waiter.Acquire(t.Context(), "r")
		if err != nil {
			t.Error(err)
		}
		granted <- lease
	}()
	dead := c.leader()
	c.stop(dead)
	c.leader(dead)
	// The service goes on, and knows the holder still.
	other := locktest.Acquire(t, holder, "other")
	mustHold(t, held)
	select {
	case <-granted:
		t.Fatal("a new leader granted what is held")
	default:
	}
	locktest.Release(t, held)
	next := <-granted
	if next == nil {
		t.FailNow()
	}
	if token(t, next) <= token(t, other) || token(t, other) <= token(t, held) {
		t.Errorf("tokens %d, %d, %d do not grow across leaders", token(t, held), token(t, other), token(t, next))
	}
	locktest.Release(t, next)
	locktest.Release(t, other)

	c.start(dead) // it catches up, and can be needed
	c.stop(c.leader())
	locktest.Release(t, locktest.Acquire(t, holder, "r"))
}

func TestMinorityAnswersNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{})
	everywhere := c.locker(long)
	before := locktest.Acquire(t, everywhere, "r")
	old := c.leader()
	inside := c.lockerAt(long, raftlock.Server{Name: old, Addr: c.client[old]})
	locktest.Release(t, locktest.Acquire(t, inside, "mine")) // it has a session

	c.cut(old, true)
	if err := locktest.Refused(t, inside, "free", 700*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	// The others elect a leader, and everything goes on there.
	c.leader(old)
	locktest.Release(t, before)
	after := locktest.Acquire(t, everywhere, "r")
	if token(t, after) <= token(t, before) {
		t.Errorf("token %d after %d", token(t, after), token(t, before))
	}
	c.cut(old, false)
	locktest.Eventually(t, "the old leader to follow", func() bool {
		status := c.status(old)
		return status.State == "follower" && status.Leader != "" && status.AppliedIndex >= uint64(token(t, after))
	})
	locktest.Release(t, after)
}

// TestAServiceIsFoundedOnce: a server that has lost its data may have voted, and does not start.
func TestAServiceIsFoundedOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{})
	c.leader()
	forgets := c.names[0]
	c.stop(forgets)
	must.Do(t, os.RemoveAll(filepath.Join(c.dir, forgets)))
	_, err := c.open(forgets)
	if !errors.Is(err, raftnode.ErrForgot) || !strings.Contains(err.Error(), filepath.Join(c.dir, forgets)) {
		t.Errorf("got %v, want ErrForgot and the directory", err)
	}
	locktest.Release(t, locktest.Acquire(t, c.locker(long), "r")) // the others go on
}

func TestSnapshotsCarryTheState(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{SnapshotEntries: 16})
	holder, busy := c.locker(long), c.locker(long)
	held := locktest.Acquire(t, holder, "r")
	leader := c.leader()
	behind := c.names[0]
	if behind == leader {
		behind = c.names[1]
	}
	c.stop(behind)
	last := locks.Token(0)
	for range 100 {
		lease := locktest.Acquire(t, busy, "busy")
		last = token(t, lease)
		locktest.Release(t, lease)
	}
	// The one that was away is so far behind that it needs a snapshot; then it must
	// carry on, with another one of which the log was cut short.
	c.start(behind)
	locktest.Eventually(t, behind+" to catch up", func() bool { return c.status(behind).AppliedIndex >= uint64(last) })
	locktest.Eventually(t, "a snapshot", func() bool {
		kept, err := c.servers[leader].Snapshots()
		return kept > 0 && err == nil
	})
	c.restart()
	if again := locktest.Acquire(t, busy, "busy"); token(t, again) <= last {
		t.Errorf("token %d after %d", token(t, again), last)
	}
	mustHold(t, held)
	locktest.Release(t, held)
}

func TestAClientThatIsCutOffLosesItsLeaseFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, raftnode.Config{})
	cut := locktest.NewLink(t, c.client["raft-1"])
	holder := c.lockerAt(time.Second, raftlock.Server{Name: "raft-1", Addr: cut.Addr()})
	waiter := c.locker(long)
	held := locktest.Acquire(t, holder, "r")
	if expires, ok := held.Expires(); !ok || expires.IsZero() {
		t.Error("a raft lease has an end")
	}
	cut.Cut(true)
	next := locktest.Acquire(t, waiter, "r")
	if !signals.Closed(held.Lost()) {
		t.Error("the lock was granted again before its holder knew that it was lost")
	}
	if err := held.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("got %v, want ErrNotHeld", err)
	}
	// The client comes back with a new session.
	cut.Cut(false)
	locktest.Release(t, next)
	locktest.Release(t, locktest.Acquire(t, holder, "r"))
}

// catching is a clock whose timers of one length do not run: what fires each of them is handed to the test.
type catching struct {
	locktest.Clock
	length time.Duration
	caught chan func()
}

func (c *catching) AfterFunc(d time.Duration, f func()) clock.Timer {
	if d == c.length {
		c.caught <- f
		d, f = time.Hour, func() {} // it stands for the caught one
	}
	return c.Clock.AfterFunc(d, f)
}

// TestTheHolderNoticesFirst: a lease that a client no longer believes in, and that the service still
// keeps, is given back only when whoever held has had the margin to notice: when its timer has fired.
func TestTheHolderNoticesFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, raftnode.Config{})
	const lease = 3 * time.Second // the sooner it is renewed, the sooner it is looked at
	clk := &catching{length: lease/20 + 5*time.Millisecond, caught: make(chan func(), 1)}
	first := locktest.Acquire(t, c.lockerOn(clk, lease, c.all()...), "r")
	second := locktest.Later(t, c.locker(long), "r")
	clk.Leap(lease)
	<-first.Lost()
	const early = "another client holds before the first one has had the time to notice"
	select {
	case fire := <-clk.caught:
		select {
		case <-second:
			t.Fatal(early)
		default:
			fire()
		}
	case <-second:
		t.Fatal(early)
	}
	locktest.Release(t, <-second)
}

func TestALateGrantIsGivenBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, raftnode.Config{})
	cut := locktest.NewLink(t, c.client["raft-1"])
	gone := c.lockerAt(long, raftlock.Server{Name: "raft-1", Addr: cut.Addr()})
	other := c.locker(long)
	held := locktest.Acquire(t, other, "r")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := gone.Acquire(ctx, "r")
		failed <- err
	}()
	locktest.Eventually(t, "the wait to reach the service", func() bool { return gone.MessagesSent() >= 2 })
	cut.Cut(true)
	cancel()
	if err := <-failed; !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want ErrUnknown: nobody confirmed that the wait was cancelled", err)
	}
	locktest.Release(t, held) // now the client that is gone is granted
	cut.Cut(false)
	locktest.Release(t, locktest.Acquire(t, other, "r")) // and gives it back when it returns
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{})
	leader := c.leader()
	for name, s := range c.servers {
		leads := "locklab_raft_leader 0"
		if name == leader {
			leads = "locklab_raft_leader 1"
		}
		metricstest.Has(t, metricstest.Page(t, s.Metrics()), leads)
	}
}
