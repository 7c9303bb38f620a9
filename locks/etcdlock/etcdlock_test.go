package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

func TestConforms(t *testing.T) {
	c := startCluster(t, 3)
	o := etcdlock.DefaultOptions()
	first := locktest.NewClock()
	locktest.Run(t, locktest.Subject{
		Leases: &locktest.Leases{Time: o.TTL, Clock: first},
		New: func(tb testing.TB) (clients []locks.Locker) {
			for _, clk := range []clock.Clock{first, nil, nil} {
				clients = append(clients, newClient(tb, c.addrs, clk, o))
			}
			return clients
		},
	})
}

// TestLostBeforeAnotherHolds: a holder that is cut off is told before its lease ends at
// etcd. etcd's own Session, for which the library renews, may say so only after somebody
// else has the lock: that is the weakness that this lock does not inherit.
func TestLostBeforeAnotherHolds(t *testing.T) {
	c := startCluster(t, 3)
	var links []*locktest.Link
	var addrs []string
	for _, addr := range c.addrs {
		links = append(links, locktest.NewLink(t, addr))
		addrs = append(addrs, links[len(links)-1].Addr())
	}
	holder, waiter := newClient(t, addrs, nil, etcdlock.DefaultOptions()), newClient(t, c.addrs, nil, etcdlock.DefaultOptions())
	first, err := holder.Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		l.Cut(true)
	}
	second, err := waiter.Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-first.Lost():
	default:
		t.Error("another client holds, and the first one was not told that it does not")
	}
	before, _ := first.Token()
	after, _ := second.Token()
	if after <= before {
		t.Errorf("token %d after %d: the resource could not refuse the first holder", after, before)
	}
	if err := first.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release after the loss: %v", err)
	}
}

// TestNoQuorum: without a majority nothing is granted, and what was asked for in vain is
// unknown at worst; it does not stay behind.
func TestNoQuorum(t *testing.T) {
	c := startCluster(t, 3)
	l := newClient(t, c.addrs, nil, etcdlock.DefaultOptions())
	held, err := l.Acquire(t.Context(), "held")
	if err != nil {
		t.Fatal(err)
	}
	c.signal(t, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := l.Acquire(ctx, "r"); !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire without a quorum, with a session: %v", err)
	}
	if _, err := newClient(t, c.addrs, nil, etcdlock.DefaultOptions()).Acquire(ctx, "r"); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("acquire without a quorum, and without a session: %v", err)
	}
	<-held.Lost()
	c.signal(t, syscall.SIGCONT)
	next, err := newClient(t, c.addrs, nil, etcdlock.DefaultOptions()).Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAMutexKnowsSessionsOnly: two of one session hold at once, which is why the callers of
// a process queue before it.
func TestAMutexKnowsSessionsOnly(t *testing.T) {
	c := startCluster(t, 1)
	session, err := concurrency.NewSession(c.client)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	for range 2 {
		if err := concurrency.NewMutex(session, "m").TryLock(t.Context()); err != nil {
			t.Errorf("the library has changed: the second Mutex of a session says %v", err)
		}
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"etcd": "", "etcd:ttl=5s,timeout=100ms": "", "etcd:ttl=1s": "whole seconds from 2s", "etcd:ttl=2500ms": "whole seconds",
		"etcd:timeout=2s": "half of the ttl", "etcd:guard=on": "unknown option", "etcd:big": "unknown variant",
	} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = etcdlock.ParseOptions(spec)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
