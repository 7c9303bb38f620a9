package etcdlock

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/locks"
)

// guarded is a resource's value in etcd itself, next to the lock.
type guarded struct{ *lease }

var (
	_ locks.Storer = (*lease)(nil)
	_ locks.Store  = guarded{}
)

// Store is there with Options.Guard.
func (le *lease) Store() (locks.Store, bool) { return guarded{le}, le.locker.options.Guard }

func (g guarded) data() string { return "locklab-data/" + url.PathEscape(g.resource) }

// Read gives etcd's version of the key, which counts its writes.
func (g guarded) Read(ctx context.Context) (uint64, error) {
	asking, stop := within(ctx, g.locker.open)
	defer stop()
	answer, err := g.locker.client.Get(asking, g.data())
	if err != nil {
		return 0, fmt.Errorf("read %q: %w: %w", g.resource, locks.ErrUnavailable, withCause(ctx, err))
	}
	return versionOf(answer.Kvs), nil
}

// Write puts the key, checked in a transaction that compares the create revision of the
// lease's key: once that key is gone no other one has its create revision. It is asked for once
// only: a second answer would not tell what became of the first request.
func (g guarded) Write(ctx context.Context, checked bool) (uint64, error) {
	asking, stop := within(ctx, g.locker.open)
	defer stop()
	txn := g.locker.client.Txn(asking)
	if checked {
		txn = txn.If(clientv3.Compare(clientv3.CreateRevision(g.key), "=", int64(g.token))) //nolint:gosec // it was one
	}
	answer, err := txn.Then(clientv3.OpPut(g.data(), g.key), clientv3.OpGet(g.data())).Commit()
	switch {
	case err != nil: // it may have been applied, or be applied later
		return 0, fmt.Errorf("write %q: %w: %w", g.resource, locks.ErrUnknown, withCause(ctx, err))
	case !answer.Succeeded:
		return 0, fmt.Errorf("write %q: the lease was over: %w", g.resource, locks.ErrNotHeld)
	}
	return versionOf(answer.Responses[1].GetResponseRange().Kvs), nil
}

func versionOf(found []*mvccpb.KeyValue) uint64 {
	if len(found) == 0 {
		return 0
	}
	return uint64(found[0].Version) //nolint:gosec // it counts up from 1
}
