package etcdlock

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/locks"
)

// guarded is a resource's value in etcd, next to the lock.
type guarded struct{ *lease }

// Store returns the resource's value in etcd; false without Options.Guard.
func (le *lease) Store() (locks.Store, bool) { return guarded{le}, le.locker.options.Guard }

func (g guarded) data() string { return "locklab-data/" + g.name }

// Read returns etcd's version of the key, which counts its writes.
func (g guarded) Read(ctx context.Context) (uint64, error) {
	answer, err := g.locker.client.Get(ctx, g.data())
	if err != nil {
		return 0, fmt.Errorf("read %q: %w: %w", g.name, locks.ErrUnavailable, err)
	}
	return versionOf(answer.Kvs), nil
}

// Write puts the key. If checked, the transaction compares the create revision of the lease's key
// (Mutex.IsOwner), which no other key ever has.
func (g guarded) Write(ctx context.Context, checked bool) (uint64, error) {
	txn := g.locker.client.Txn(ctx)
	if checked {
		txn = txn.If(g.owner)
	}
	answer, err := txn.Then(clientv3.OpPut(g.data(), ""), clientv3.OpGet(g.data())).Commit()
	switch {
	case err != nil: // it may have been applied, or be applied later
		return 0, fmt.Errorf("write %q: %w: %w", g.name, locks.ErrUnknown, err)
	case !answer.Succeeded:
		return 0, fmt.Errorf("write %q: the lease was over: %w", g.name, locks.ErrNotHeld)
	}
	return versionOf(answer.Responses[1].GetResponseRange().Kvs), nil
}

func versionOf(found []*mvccpb.KeyValue) uint64 {
	if len(found) == 0 {
		return 0
	}
	return uint64(found[0].Version) //nolint:gosec // it counts up from 1
}
