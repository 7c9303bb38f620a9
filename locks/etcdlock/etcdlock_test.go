package etcdlock_test

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/internal/posix"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

func TestConforms(t *testing.T) {
	c := startCluster(t, 3)
	o := etcdlock.DefaultOptions()
	o.Timeout = o.TTL / 2 // a busy machine answers late, which may be unknown
	locktest.Run(t, locktest.Clients(o.TTL, nil, func(tb testing.TB, clk clock.Clock) *etcdlock.Locker {
		return newClient(tb, c.addrs, clk, o)
	}))
}

// TestLostBeforeAnotherHolds: a holder that is cut off is told before its lease ends at
// etcd. etcd's own Session, for which the library renews, may say so only after somebody
// else has the lock: that is the weakness that this lock does not inherit.
func TestLostBeforeAnotherHolds(t *testing.T) {
	c := startCluster(t, 3)
	links, addrs := locktest.Links(t, c.addrs)
	holder, waiter := newClient(t, addrs, nil, etcdlock.DefaultOptions()), newClient(t, c.addrs, nil, etcdlock.DefaultOptions())
	locktest.LostBefore(t, holder, waiter, func() {
		for _, l := range links {
			l.Cut(true)
		}
	})
}

func TestNoQuorum(t *testing.T) {
	c := startCluster(t, 3)
	client := func() *etcdlock.Locker { return newClient(t, c.addrs, nil, etcdlock.DefaultOptions()) }
	locktest.NoQuorum(t, client, client, func() { c.signal(t, posix.SIGSTOP) }, func() { c.signal(t, posix.SIGCONT) })
}

// TestGuardedWrites: a holder whose key is gone, as etcd deletes it with a lease that has
// ended, writes nothing that is compared with the lock, whatever it believes.
func TestGuardedWrites(t *testing.T) {
	c := startCluster(t, 1)
	if _, is := store(t, c, etcdlock.DefaultOptions()); is {
		t.Error("a lease has a store that nobody asked for")
	}
	o := etcdlock.DefaultOptions()
	o.Guard = true
	first, _ := store(t, c, o)
	for want := range uint64(2) {
		version, err := first.Read(t.Context())
		if err != nil || version != want {
			t.Errorf("read version %d: %v, want %d", version, err, want)
		}
		if version, err = first.Write(t.Context(), true); err != nil || version != want+1 {
			t.Errorf("wrote version %d: %v, want %d", version, err, want+1)
		}
	}
	if _, err := c.client.Delete(t.Context(), "locklab/r/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	second, _ := store(t, c, o)
	if version, err := second.Write(t.Context(), true); err != nil || version != 3 {
		t.Errorf("the next holder wrote version %d: %v", version, err)
	}
	if _, err := first.Write(t.Context(), true); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("a write after the end: %v", err)
	}
	if version, err := first.Write(t.Context(), false); err != nil || version != 4 {
		t.Errorf("without a comparison: version %d, %v", version, err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Write(late, true); !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("a write that nobody answered: %v", err)
	}
}

// store is that of a new client's hold of r.
func store(t *testing.T, c *cluster, o etcdlock.Options) (locks.Store, bool) {
	t.Helper()
	lease := locktest.Acquire(t, newClient(t, c.addrs, nil, o), "r")
	s, is := lease.(locks.Storer).Store()
	if !is {
		locktest.Release(t, lease)
	}
	return s, is
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
	locktest.Specs(t, etcdlock.ParseOptions, map[string]string{
		"etcd": "", "etcd:ttl=5s,timeout=100ms": "", "etcd:ttl=1s": "whole seconds from 2s", "etcd:ttl=2500ms": "whole seconds",
		"etcd:timeout=2s": "half of the ttl", "etcd:guard=on": "", "etcd:guard=yes": "want on or off", "etcd:big": "unknown variant",
	})
}
