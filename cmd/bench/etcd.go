package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"locklab/locks"
	"locklab/locks/etcdlock"
)

// etcdPairs makes the workers of a lock on etcd: each locks and unlocks once when called.
type etcdPairs func(ctx context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error)

// etcdRows compare the lock etcd with what it is made of, a client for each worker: the
// callers of one client queue in it, and would hand over without etcd.
func etcdRows() []row {
	var rows []row
	for _, r := range []struct {
		name string
		key  func(worker int) string
	}{
		{"distinct keys, a client each", func(i int) string { return fmt.Sprint("key-", i) }},
		{"one key, a client each; etcd's Mutex hands over on a 100 ms timer", func(int) string { return "key" }},
	} {
		rows = append(rows, row{
			name: "etcd lock+unlock / concurrency.Mutex, 16 workers with leases of a minute, " + r.name, reach: 1, unit: "ops/s",
			start: etcdAgainstMutex(16, r.key),
		})
	}
	return rows
}

// etcdAgainstMutex gives each worker a client of its own on both sides: 16 Mutexes of one
// client would share its connections, and have etcd answer several at once.
func etcdAgainstMutex(workers int, key func(worker int) string) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		dir, err := tempDir(stops)
		if err != nil {
			return nil, nil, err
		}
		client, err := startEtcd(ctx, dir, stops)
		if err != nil {
			return nil, nil, err
		}
		lockers, pairs := make([]locks.Locker, workers), make([]func(context.Context) error, workers)
		options := etcdlock.DefaultOptions()
		options.TTL = etcdLease // with its own of 3 s it would renew 20 times as often as the Mutex
		for i := range lockers {
			l, err := etcdlock.New(etcdlock.Config{Addrs: client.Endpoints(), Options: options})
			if err != nil {
				return nil, nil, err
			}
			stops.close(l)
			lockers[i] = l
			c, err := dialEtcd(client.Endpoints(), stops)
			if err != nil {
				return nil, nil, err
			}
			own, err := etcdMutexes(ctx, c, 1, func(int) string { return "mutex-" + key(i) }, stops)
			if err != nil {
				return nil, nil, err
			}
			pairs[i] = own[0]
		}
		return rate(workers, func(ctx context.Context, w int) error { return pair(ctx, lockers[w], key(w)) }),
			rate(workers, func(ctx context.Context, w int) error { return pairs[w](ctx) }), nil
	}
}

func startEtcd(ctx context.Context, dir string, stops *stopList) (*clientv3.Client, error) {
	const n = 3
	addrs, err := freePorts(ctx, 2*n)
	if err != nil {
		return nil, err
	}
	var cluster []string
	for i, addr := range addrs[n:] {
		cluster = append(cluster, fmt.Sprintf("etcd-%d=http://%s", i+1, addr))
	}
	for i, addr := range addrs[:n] {
		name, peer, _ := strings.Cut(cluster[i], "=")
		if _, err := startProcess(ctx, stops, nil, "etcd", "--name", name, "--data-dir", filepath.Join(dir, name),
			"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new", "--log-level", "error",
		); err != nil {
			return nil, err
		}
	}
	c, err := dialEtcd(addrs[:n], stops)
	if err != nil {
		return nil, err
	}
	return c, await(ctx, "etcd", func(ctx context.Context) error { // until there is a leader
		_, err := c.Get(ctx, "ready")
		return err
	})
}

func dialEtcd(addrs []string, stops *stopList) (*clientv3.Client, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err == nil {
		stops.close(c)
	}
	return c, err
}

// etcdLease is the lease of both sides.
const etcdLease = time.Minute

// etcdMutexes are etcd's own, with a session for each worker.
func etcdMutexes(_ context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error) {
	pairs := make([]func(context.Context) error, workers)
	for i := range pairs {
		session, err := concurrency.NewSession(c, concurrency.WithTTL(int(etcdLease/time.Second)))
		if err != nil {
			return nil, err
		}
		stops.add(session.Orphan)
		mutex := concurrency.NewMutex(session, key(i))
		pairs[i] = func(ctx context.Context) error {
			if err := mutex.Lock(ctx); err != nil {
				return err
			}
			return mutex.Unlock(ctx)
		}
	}
	return pairs, nil
}

// etcdQueues share one queue, as all workers of the row share one key.
func etcdQueues(ctx context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error) {
	q, err := startEtcdQueue(ctx, c, key(0)+"/", stops)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]func(context.Context) error{q.pair}, workers), nil
}

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
	ended  chan struct{} // closed when the watch ends

	mu      sync.Mutex
	order   []string                 // keys that exist, the oldest first, as far as the watch has told
	waiting map[string]chan struct{} // closed when the key is the oldest
}

func startEtcdQueue(ctx context.Context, client *clientv3.Client, prefix string, stops *stopList) (*etcdQueue, error) {
	granted, err := client.Grant(ctx, 600) // longer than any row takes
	if err != nil {
		return nil, fmt.Errorf("etcd: grant a lease: %w", err)
	}
	watchCtx, cancel := context.WithCancel(ctx)
	q := &etcdQueue{client: client, lease: granted.ID, prefix: prefix, ended: make(chan struct{}), waiting: map[string]chan struct{}{}}
	events := client.Watch(watchCtx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	created := <-events
	go q.watch(events)
	stops.add(func() { cancel(); <-q.ended })
	return q, created.Err()
}

func (q *etcdQueue) watch(events clientv3.WatchChan) {
	defer close(q.ended)
	for response := range events {
		q.mu.Lock()
		for _, e := range response.Events {
			key := string(e.Kv.Key)
			if e.Type == clientv3.EventTypeDelete {
				q.order = slices.DeleteFunc(q.order, func(k string) bool { return k == key })
			} else {
				q.order = append(q.order, key) // events come in the order of their revisions
			}
			if len(q.order) > 0 && q.waiting[q.order[0]] != nil {
				close(q.waiting[q.order[0]])
				delete(q.waiting, q.order[0])
			}
		}
		q.mu.Unlock()
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
	case <-q.ended:
		return fmt.Errorf("etcd: the watch of %s ended", q.prefix)
	case <-ctx.Done():
		return ctx.Err()
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
