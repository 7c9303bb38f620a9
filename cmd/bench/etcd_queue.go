package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// etcdQueue is a mutex on etcd's leases and watches, as a peer to measure against. As
// in etcd's own Mutex, a key with a lease for everybody who wants the lock, and the
// oldest key holds. But that one opens a watch from a past revision for every wait,
// which etcd serves on a timer of 100 ms; this one has a single watch, open all the
// time, whose events etcd sends at once.
type etcdQueue struct {
	client *clientv3.Client
	lease  clientv3.LeaseID
	prefix string
	count  atomic.Uint64 // keys so far
	inside atomic.Int64  // who holds

	mu      sync.Mutex
	order   []string                 // keys that exist, the oldest first, as far as the watch has told
	waiting map[string]chan struct{} // closed when the key is the oldest
	lost    error                    // the watch ended
}

func startEtcdQueue(ctx context.Context, client *clientv3.Client, prefix string, stops *stopList) (*etcdQueue, error) {
	granted, err := client.Grant(ctx, 600) // longer than any row takes
	if err != nil {
		return nil, fmt.Errorf("etcd: grant a lease: %w", err)
	}
	watchCtx, cancel := context.WithCancel(ctx)
	events := client.Watch(watchCtx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if created, ok := <-events; !ok || created.Err() != nil {
		cancel()
		return nil, fmt.Errorf("etcd: open a watch: %w", created.Err())
	}
	q := &etcdQueue{client: client, lease: granted.ID, prefix: prefix, waiting: map[string]chan struct{}{}}
	var watching sync.WaitGroup
	watching.Go(func() { q.watch(events) })
	stops.add(func() { cancel(); watching.Wait() })
	return q, nil
}

func (q *etcdQueue) watch(events clientv3.WatchChan) {
	for response := range events {
		q.mu.Lock()
		for _, e := range response.Events {
			key := string(e.Kv.Key)
			if e.Type == clientv3.EventTypeDelete {
				q.order = slices.DeleteFunc(q.order, func(k string) bool { return k == key })
			} else {
				q.order = append(q.order, key) // events come in the order of their revisions
			}
			q.grant()
		}
		q.mu.Unlock()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = fmt.Errorf("etcd: the watch of %s ended", q.prefix)
	for key, granted := range q.waiting {
		close(granted)
		delete(q.waiting, key)
	}
}

// grant tells the oldest that it holds. The caller holds mu.
func (q *etcdQueue) grant() {
	if len(q.order) == 0 {
		return
	}
	if granted := q.waiting[q.order[0]]; granted != nil {
		close(granted)
		delete(q.waiting, q.order[0])
	}
}

// pair locks and unlocks.
func (q *etcdQueue) pair(ctx context.Context) error {
	key := fmt.Sprintf("%s%d", q.prefix, q.count.Add(1)) // never the same twice
	granted := make(chan struct{})
	q.mu.Lock()
	q.waiting[key] = granted
	q.mu.Unlock()
	if _, err := q.client.Put(ctx, key, "", clientv3.WithLease(q.lease)); err != nil {
		return fmt.Errorf("etcd: put %s: %w", key, err)
	}
	select {
	case <-granted:
	case <-ctx.Done():
		return ctx.Err()
	}
	q.mu.Lock()
	lost := q.lost
	q.mu.Unlock()
	if lost != nil {
		return lost
	}
	if n := q.inside.Add(1); n != 1 {
		return fmt.Errorf("etcd queue: %d hold at once", n)
	}
	q.inside.Add(-1)
	if _, err := q.client.Delete(ctx, key); err != nil {
		return fmt.Errorf("etcd: delete %s: %w", key, err)
	}
	return nil
}
