package etcdlock_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/etcdlock"
	"locklab/locks/etcdlock/etcdtest"
	"locklab/locks/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(tb testing.TB, addrs []string, o etcdlock.Options) *etcdlock.Locker {
	tb.Helper()
	l, err := etcdlock.New(etcdlock.Config{Addrs: addrs, Options: o})
	return locktest.Open(tb, l, err)
}

func TestConforms(t *testing.T) {
	c := etcdtest.Start(t, 3)
	o := etcdlock.DefaultOptions()
	locktest.Run(t, locktest.Subject{CloseFreesWithin: 3 * o.TTL, New: func(tb testing.TB) (all []locks.Locker) {
		for range 3 {
			all = append(all, newClient(tb, c.Addrs, o))
		}
		return all
	}})
}

// TestACutOffHolder is told, if late: the library's Session may say so only after another
// client has the lock. Its release says nothing, as the library's does not.
func TestACutOffHolder(t *testing.T) {
	c := etcdtest.Start(t, 3)
	links, addrs := locktest.Links(t, c.Addrs)
	first := locktest.Acquire(t, newClient(t, addrs, etcdlock.DefaultOptions()), "r")
	for _, l := range links {
		l.Cut(true)
	}
	second := locktest.Acquire(t, newClient(t, c.Addrs, etcdlock.DefaultOptions()), "r")
	locktest.AwaitLost(t, first)
	before, _ := first.Token()
	if after, _ := second.Token(); after <= before {
		t.Errorf("token %d after %d: the resource could not refuse the first holder", after, before)
	}
	if err := first.Release(t.Context()); !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("release after the loss: %v", err)
	}
	locktest.Release(t, second)
}

// TestNoQuorum: while the members stand still nothing is granted, all calls end with their
// contexts or with Close, and the holder is told. Nothing stays behind.
func TestNoQuorum(t *testing.T) {
	c := etcdtest.Start(t, 3)
	client := func() *etcdlock.Locker { return newClient(t, c.Addrs, etcdlock.DefaultOptions()) }
	l, closed := client(), client()
	locktest.Release(t, locktest.Acquire(t, l, "r")) // and its session is idle
	held := locktest.Acquire(t, closed, "held")
	waiting := make(chan error, 1)
	go func() { _, err := l.Acquire(t.Context(), "held"); waiting <- err }()
	c.Signal(t, syscall.SIGSTOP)
	if err := locktest.Refused(t, client(), "r", time.Second); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire without a session: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, locks.ErrClosed) {
		t.Errorf("a wait that Close ended: %v", err)
	}
	locktest.AwaitLost(t, held)
	c.Signal(t, syscall.SIGCONT)
	for _, r := range []string{"r", "held"} {
		locktest.Release(t, locktest.Acquire(t, client(), r))
	}
}

// TestAWaitThatCannotBeUndone: the library deletes the key of a wait that ended, without a limit of
// time. The caller is told that the outcome is unknown, and the key goes when it can.
func TestAWaitThatCannotBeUndone(t *testing.T) {
	c := etcdtest.Start(t, 1)
	links, addrs := locktest.Links(t, c.Addrs)
	l, holder := newClient(t, addrs, long()), newClient(t, c.Addrs, long())
	locktest.Release(t, locktest.Acquire(t, l, "before"))
	held := locktest.Acquire(t, holder, "r")
	ctx, cancel := context.WithCancel(locktest.Within(t))
	ended := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx, "r"); ended <- err }()
	locktest.Eventually(t, "it waits", func() bool { return keys(t, c, "r") == 2 })
	links[0].Hold(true)
	cancel()
	if err := <-ended; !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("the key is there, and the wait ended with %v", err)
	}
	links[0].Hold(false)
	locktest.Release(t, held)
	locktest.Eventually(t, "no key is left", func() bool { return keys(t, c, "r") == 0 })
}

// long are options with leases that a busy machine ends not either.
func long() etcdlock.Options {
	o := etcdlock.DefaultOptions()
	o.TTL = time.Minute
	return o
}

// keys counts those of a resource.
func keys(t *testing.T, c *etcdtest.Cluster, resource string) int64 {
	t.Helper()
	answer, err := c.Client.Get(locktest.Within(t), "locklab/"+resource+"/", clientv3.WithPrefix())
	must.Do(t, err)
	return answer.Count
}

// TestGuardedWrites: a holder whose key is gone, as etcd deletes it with a lease that has
// ended, writes nothing that is compared with the lock, whatever it believes.
func TestGuardedWrites(t *testing.T) {
	c := etcdtest.Start(t, 1)
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
	if _, err := c.Client.Delete(t.Context(), "locklab/r/", clientv3.WithPrefix()); err != nil {
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
	if _, err := second.Write(late, true); !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("a write that nobody answered: %v", err)
	}
}

// store is that of a new client's hold of r.
func store(t *testing.T, c *etcdtest.Cluster, o etcdlock.Options) (locks.Store, bool) {
	t.Helper()
	lease := locktest.Acquire(t, newClient(t, c.Addrs, o), "r")
	s, is := lease.(locks.Storer).Store()
	if !is {
		locktest.Release(t, lease)
	}
	return s, is
}

// TestAMutexKnowsSessionsOnly: two of one session hold at once, which is why each call has
// a session of its own.
func TestAMutexKnowsSessionsOnly(t *testing.T) {
	c := etcdtest.Start(t, 1)
	session, err := concurrency.NewSession(c.Client)
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
		"etcd": "", "etcd:ttl=5s": "", "etcd:timeout=1s": `unknown option "timeout"`, "etcd:ttl=1s": "whole seconds from 2s", "etcd:ttl=2500ms": "whole seconds",
		"etcd:guard=on": "", "etcd:guard=yes": "want on or off", "etcd:big": "unknown variant",
	})
}
