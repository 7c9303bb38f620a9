package etcdlock_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

// TestCloseEndsCalls: what waits for an answer ends when Close begins, however long that takes.
func TestCloseEndsCalls(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := etcdlock.DefaultOptions()
	o.TTL *= 100
	o.Timeout *= 100 // until then no answer is late
	o.Guard = true
	renewed, renew, _ := f.catch(t, get)
	l := newClient(t, []string{f.addr}, nil, o)
	held := locktest.Acquire(t, l, "held")
	store, _ := held.(locks.Storer).Store()
	<-renewed // and will not be for long
	renew()
	f.on(txn, func(context.Context) error { return status.Error(codes.Unknown, "a test") })
	_ = locktest.Refused(t, l, "r", o.TTL) // so that the next claim needs a session of its own

	calls := map[string]func() error{
		leaseGrant: func() error { _, err := l.Acquire(t.Context(), "r"); return err },
		get:        func() error { _, err := store.Read(t.Context()); return err },
		txn:        func() error { _, err := store.Write(t.Context(), true); return err },
	}
	wants := map[string]error{leaseGrant: locks.ErrClosed, get: locks.ErrUnavailable, txn: locks.ErrUnknown}
	type outcome struct {
		method string
		err    error
	}
	ended := make(chan outcome, len(calls))
	for method, call := range calls {
		caught, _, _ := f.catch(t, method)
		go func() { ended <- outcome{method, call()} }()
		<-caught
	}
	revoking, revoke, _ := f.catch(t, leaseRevoke)
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	<-revoking
	for range calls {
		select {
		case o := <-ended:
			if !errors.Is(o.err, wants[o.method]) {
				t.Errorf("%s ended with %v", o.method, o.err)
			}
		case err := <-closed:
			t.Fatalf("Close is over (%v), and a call is not", err)
		}
	}
	revoke()
	must.Do(t, <-closed)
}
