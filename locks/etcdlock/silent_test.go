package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

// TestALateRequestBlocksNobody: a member is silent, another one grants, and when the lock was
// released long ago the first one has the key put after all, under a lease that other holds keep.
func TestALateRequestBlocksNobody(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	l := newClient(t, []string{f.addr}, nil, long())
	other := locktest.Acquire(t, l, "other")
	caught, letGo, passed := f.catch(t, txn)
	held := locktest.Acquire(t, l, "r")
	<-caught
	locktest.Release(t, held)
	letGo()
	<-passed
	free(t, c, "r")
	locktest.Release(t, other)
}

// TestALateRequestIsUnknown: what nobody waits for any more may yet be put.
func TestALateRequestIsUnknown(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	l, holder := newClient(t, []string{f.addr}, nil, long()), newClient(t, c.addrs, nil, long())
	other, held := locktest.Acquire(t, l, "other"), locktest.Acquire(t, holder, "r")
	caught, letGo, passed := f.catch(t, txn)
	err := locktest.Refused(t, l, "r", 3*time.Second)
	<-caught
	if locks.OutcomeOf(err) != locks.OutcomeUnknown {
		t.Errorf("a member has not answered yet, and the claim ended with %v", err)
	}
	locktest.Release(t, held)
	letGo()
	<-passed
	free(t, c, "r")
	locktest.Release(t, other)
}

// TestTheDeadlineIsToldFirst: a member that knows the deadline of a claim ends it before the timer
// of its context does.
func TestTheDeadlineIsToldFirst(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	l := newClient(t, []string{f.addr}, nil, long())
	other := locktest.Acquire(t, l, "other")
	deadline := time.Now().Add(50 * time.Millisecond)
	f.on(txn, func(context.Context) error {
		locktest.Eventually(t, "the deadline", func() bool { return time.Now().After(deadline) })
		return rpctypes.ErrGRPCTimeout
	})
	_, err := l.Acquire(lateTimer{locktest.Within(t), deadline}, "r")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a claim whose time is over ended with %v", err)
	}
	f.on(txn, nil)
	locktest.Release(t, other)
}

// lateTimer is a context whose timer has not fired yet.
type lateTimer struct {
	context.Context //nolint:containedctx // it is one

	deadline time.Time
}

func (c lateTimer) Deadline() (time.Time, bool) { return c.deadline, true }

// long are options with leases that a busy machine ends not either.
func long() etcdlock.Options {
	o := etcdlock.DefaultOptions()
	o.TTL = time.Minute
	return o
}

// free waits until a resource has no key.
func free(t *testing.T, c *cluster, resource string) {
	t.Helper()
	ctx := locktest.Within(t)
	locktest.Eventually(t, "no key of "+resource, func() bool {
		answer, err := c.client.Get(ctx, "locklab/"+resource+"/", clientv3.WithPrefix())
		must.Do(t, err)
		return answer.Count == 0
	})
}
