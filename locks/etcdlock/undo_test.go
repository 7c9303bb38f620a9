package etcdlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"locklab/locks"
	"locklab/locks/locktest"
)

// TestAWaitIsUndoneOnce: a wait whose context has ended gives a deletion that is not answered one
// Timeout, and goes on in the background.
func TestAWaitIsUndoneOnce(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := long()
	clk := &locktest.Leaping{Caught: o.Timeout / 10, Timers: make(chan func(), 100)} // between deletions
	l, holder := newClient(t, []string{f.addr}, clk, o), newClient(t, c.addrs, nil, o)
	held := locktest.Acquire(t, holder, "r")
	waiting, wait, _ := f.catch(t, watch)
	var deletions atomic.Int64
	silent := make(chan struct{})
	defer close(silent)
	f.on(deleteRange, func(context.Context) error { deletions.Add(1); <-silent; return nil })
	ctx, cancel := context.WithCancel(locktest.Within(t))
	ended := make(chan error, 1)
	go func() {
		_, err := l.Acquire(ctx, "r")
		ended <- err
	}()
	<-waiting
	wait()
	cancel()
	if err := <-ended; !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("the key is there, and the wait ended with %v", err)
	}
	if n := deletions.Load(); n != 1 {
		t.Errorf("waited for %d deletions", n)
	}
	locktest.Release(t, held)
}

// TestAnAnswerThatWasLost: a deletion is not answered, and the next one finds no key. While the
// session lives it was the first one that deleted it; later nobody knows.
func TestAnAnswerThatWasLost(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := long()
	clk := &locktest.Leaping{Caught: -1} // none
	l := newClient(t, []string{f.addr}, clk, o)
	for ahead, want := range map[time.Duration]locks.Outcome{0: locks.OutcomeOK, o.TTL: locks.OutcomeUnknown} {
		held := locktest.Acquire(t, l, "r")
		f.on(deleteRange, func(context.Context) error {
			f.on(deleteRange, nil)
			_, err := c.client.Delete(t.Context(), "locklab/r/", clientv3.WithPrefix())
			clk.Leap(ahead)
			return status.Error(codes.Unavailable, errors.Join(errors.New("a test"), err).Error())
		})
		if err := held.Release(locktest.Within(t)); locks.OutcomeOf(err) != want {
			t.Errorf("%v after its grant the release ended with %v, want %s", ahead, err, want)
		}
		free(t, c, "r")
	}
}
