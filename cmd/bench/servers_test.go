package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5/pgxpool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
	"locklab/locks/pglock"
	"locklab/locks/raftlock"
	"locklab/locks/zklock"
	"locklab/nodes/postgresnode"
	nodeprocess "locklab/nodes/process"
	"locklab/nodes/raftnode"
	"locklab/nodes/zookeepernode"
)

// postgresWorkers is as many as each side has connections.
const postgresWorkers = 16

// postgresRows compare two of the locks on PostgreSQL with the statements that such a lock
// cannot do without, by pgx from a pool of the same size, on one server with fsync.
func postgresRows() []row {
	const keys = ", a key each, 16 goroutines"
	return []row{
		{
			name: "postgres:lease acquire+release / its bare statements by pgx" + keys, reach: 0.85, unit: "ops/s",
			start: againstStatements("postgres:lease",
				"UPDATE bench_locks SET owner = 'bench', fence = fence + 1, expires = now() + interval '3 s' WHERE resource = $1 AND expires < now() RETURNING fence",
				"UPDATE bench_locks SET expires = '-infinity', owner = NULL WHERE resource = $1 RETURNING fence"),
		},
		{
			name: "postgres:advisory acquire+release / its bare statements by pgx" + keys + "; with a token", reach: 0.85, unit: "ops/s",
			start: againstStatements("postgres:advisory",
				"WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 1))) SELECT nextval('bench_fence') FROM locked",
				"SELECT pg_advisory_unlock(hashtextextended($1, 1))::int::bigint"),
		},
	}
}

// againstStatements has the lock run against two statements that return a number, on a table of the
// locks' form with a row for each worker.
func againstStatements(lock, take, give string) func(testing.TB) (subject, peer measurement) {
	return func(b testing.TB) (subject, peer measurement) {
		url := startPostgres(b)
		options := locktest.Options(b, pglock.ParseOptions, fmt.Sprintf("%s,conns=%d", lock, postgresWorkers))
		l, err := pglock.New(pglock.Config{URL: url, Options: options})
		locker := locktest.Open(b, l, err)
		config, err := pgxpool.ParseConfig(url)
		must.Do(b, err)
		config.MaxConns = postgresWorkers
		pool, err := pgxpool.NewWithConfig(b.Context(), config)
		must.Do(b, err)
		b.Cleanup(pool.Close)
		_, err = pool.Exec(b.Context(), fmt.Sprintf(`CREATE SEQUENCE bench_fence;
CREATE TABLE bench_locks (resource text PRIMARY KEY, owner text, fence bigint NOT NULL DEFAULT 0, expires timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50);
INSERT INTO bench_locks (resource) SELECT 'key-' || n FROM generate_series(0, %d) AS n`, postgresWorkers-1))
		must.Do(b, err)
		return rate(postgresWorkers, pairs(locker, ownKey)), rate(postgresWorkers, func(ctx context.Context, w int) error {
			// Both on one connection, which an advisory lock belongs to.
			conn, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			for _, sql := range []string{take, give} {
				var n int64
				if err := conn.QueryRow(ctx, sql, ownKey(w)).Scan(&n); err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
			}
			return nil
		})
	}
}

// startPostgres starts a server as the lab does, and returns the URL that its clients dial.
func startPostgres(b testing.TB) (url string) {
	b.Helper()
	server, addr := postgresnode.Role(), locktest.FreeAddr(b)
	must.Do(b, server.Missing())
	node := &nodeprocess.Node{
		Config:   nodeprocess.Config{Name: postgresnode.Name, Dir: b.TempDir(), Addrs: map[string]string{postgresnode.Port: addr}},
		Recorder: nodeprocess.NewRecorder(io.Discard, "bench", postgresnode.Name), Log: slog.New(slog.DiscardHandler),
	}
	running, end := context.WithCancel(context.WithoutCancel(b.Context()))
	var ended sync.WaitGroup
	ended.Go(func() { _ = server.Main(running, node) }) // it ends as asked, and its client sees what fails
	b.Cleanup(func() {
		end()
		ended.Wait()
		_ = node.Recorder.Close() // it writes nowhere
	})
	url = postgresnode.URL(addr)
	await(b, "postgres", func(ctx context.Context) error {
		pool, err := pgxpool.New(ctx, url)
		if err != nil {
			return err
		}
		defer pool.Close()
		return pool.Ping(ctx)
	})
	return url
}

// etcdRows compare the lock etcd with what it is made of, a client for each worker: the
// callers of one client queue in it, and would hand over without etcd. 16 Mutexes of one client
// would share its connections, and have etcd answer several at once.
func etcdRows() []row {
	const name = "etcd lock+unlock / concurrency.Mutex, 16 workers with leases of a minute, "
	against := func(key func(worker int) string) func(testing.TB) (subject, peer measurement) {
		return func(b testing.TB) (subject, peer measurement) {
			const workers = 16
			addrs := startEtcd(b).Endpoints()
			options := etcdlock.DefaultOptions()
			options.TTL = etcdLease // with its own of 3 s it would renew 20 times as often as the Mutex
			ours, theirs := make([]pass, workers), make([]pass, workers)
			for w := range workers {
				l, err := etcdlock.New(etcdlock.Config{Addrs: addrs, Options: options})
				ours[w] = pairs(locktest.Open(b, l, err), func(int) string { return key(w) })
				theirs[w] = etcdMutexes(b, dialEtcd(b, addrs), 1, func(int) string { return "mutex-" + key(w) })
			}
			own := func(all []pass) pass { return func(ctx context.Context, w int) error { return all[w](ctx, 0) } }
			return rate(workers, own(ours)), rate(workers, own(theirs))
		}
	}
	return []row{
		{name: name + "distinct keys, a client each", reach: 1, unit: "ops/s", start: against(ownKey)},
		{name: name + "one key, a client each; etcd's Mutex hands over on a 100 ms timer", reach: 1, unit: "ops/s", start: against(oneKey)},
	}
}

// raftRows compares the raft lock with etcd's Mutex: three processes each, on this
// machine's disk with fsync, without any link between them, one client process.
// etcd's client spreads its requests over the members, as it does by default.
func raftRows() []row {
	against := func(
		workers int, key func(int) string, peers func(testing.TB, *clientv3.Client, int, func(int) string) pass,
	) func(testing.TB) (subject, peer measurement) {
		return func(b testing.TB) (subject, peer measurement) {
			return rate(workers, pairs(startRaft(b), key)), rate(workers, peers(b, startEtcd(b), workers, key))
		}
	}
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 1.3}, {16, 2}, {64, 3}} {
		name := fmt.Sprintf("raft lock+unlock / etcd Mutex, distinct keys, %d workers", r.workers)
		rows = append(rows, row{name: name, reach: r.reach, unit: "ops/s", start: against(r.workers, ownKey, etcdMutexes)})
	}
	return append(rows, row{
		name:  "raft lock+unlock / etcd Mutex, one key, 16 workers; etcd's Mutex hands over on a 100 ms timer",
		reach: 10, unit: "ops/s", start: against(16, oneKey, etcdMutexes),
	}, row{
		name:  "raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, 16 workers",
		reach: 1, unit: "ops/s", start: against(16, oneKey, etcdQueue),
	})
}

// startRaft starts three servers by running this program again, and returns a client when
// there is a leader.
func startRaft(b testing.TB) locks.Locker {
	b.Helper()
	const n = 3
	addrs := freePorts(b, 2*n)
	var servers []raftlock.Server
	var peers []raftnode.Peer
	for i := range n {
		name := fmt.Sprintf("raft-%d", i+1)
		servers = append(servers, raftlock.Server{Name: name, Addr: addrs[i]})
		peers = append(peers, raftnode.Peer{Name: name, Addr: addrs[n+i]})
	}
	for i, s := range servers {
		c := raftnode.Config{Name: s.Name, Dir: b.TempDir(), ClientAddr: s.Addr, RaftAddr: peers[i].Addr, Founds: true}
		c.Settings.Peers = slices.Delete(slices.Clone(peers), i, i+1)
		startPeer(b, "raft", c, "GOMAXPROCS=1") // as an agent does
	}
	l, err := raftlock.New(raftlock.Config{Servers: servers, Client: "bench"})
	locker := locktest.Open(b, l, err)
	must.Do(b, pair(b.Context(), locker, "ready"))
	return locker
}

// serveRaft is a server's process.
func serveRaft(ctx context.Context, config []byte) error {
	var c raftnode.Config
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	server, err := raftnode.Start(ctx, c)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
	return server.Close()
}

// etcdLease is the lease of both sides.
const etcdLease = time.Minute

func startEtcd(b testing.TB) *clientv3.Client {
	b.Helper()
	const n = 3
	addrs := freePorts(b, 2*n)
	var cluster []string
	for i, addr := range addrs[n:] {
		cluster = append(cluster, fmt.Sprintf("etcd-%d=http://%s", i+1, addr))
	}
	for i, addr := range addrs[:n] {
		name, peer, _ := strings.Cut(cluster[i], "=")
		start(b, exec.Command("etcd", "--name", name, "--data-dir", b.TempDir(),
			"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new", "--log-level", "error"))
	}
	c := dialEtcd(b, addrs[:n])
	await(b, "etcd", func(ctx context.Context) error { // until there is a leader
		_, err := c.Get(ctx, "ready")
		return err
	})
	return c
}

func dialEtcd(b testing.TB, addrs []string) *clientv3.Client {
	b.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	must.Do(b, err)
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// etcdMutexes are etcd's own, with a session for each worker.
func etcdMutexes(b testing.TB, c *clientv3.Client, workers int, key func(int) string) pass {
	b.Helper()
	mutexes := make([]*concurrency.Mutex, workers)
	for i := range mutexes {
		session, err := concurrency.NewSession(c, concurrency.WithTTL(int(etcdLease/time.Second)))
		must.Do(b, err)
		b.Cleanup(session.Orphan)
		mutexes[i] = concurrency.NewMutex(session, key(i))
	}
	return func(ctx context.Context, w int) error {
		if err := mutexes[w].Lock(ctx); err != nil {
			return err
		}
		return mutexes[w].Unlock(ctx)
	}
}

// etcdQueue is a mutex on etcd's leases and watches, as a peer to measure against. As in etcd's own
// Mutex, each waiter has a key with a lease, and the oldest key holds. But that one opens a watch from
// a past revision for every wait, which etcd serves on a timer of 100 ms; this one has a single
// watch, open all the time, whose events etcd sends at once.
func etcdQueue(b testing.TB, c *clientv3.Client, _ int, key func(int) string) pass {
	b.Helper()
	prefix := key(0) + "/"
	lease, err := c.Grant(b.Context(), 600) // longer than any row takes
	must.Do(b, err)
	watching, cancel := context.WithCancel(b.Context())
	events, ended := c.Watch(watching, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify()), make(chan struct{})
	created := <-events
	must.Do(b, created.Err())
	b.Cleanup(func() { cancel(); <-ended })
	var mu sync.Mutex
	waiting := map[string]chan struct{}{} // closed when the key is the oldest
	go func() {
		defer close(ended)
		var order []string // keys that exist, the oldest first, as far as the watch has told
		for response := range events {
			mu.Lock()
			for _, e := range response.Events {
				key := string(e.Kv.Key)
				if e.Type == clientv3.EventTypeDelete {
					order = slices.DeleteFunc(order, func(k string) bool { return k == key })
				} else {
					order = append(order, key) // events come in the order of their revisions
				}
				if len(order) > 0 && waiting[order[0]] != nil {
					close(waiting[order[0]])
					delete(waiting, order[0])
				}
			}
			mu.Unlock()
		}
	}()
	var keys atomic.Int64
	return func(ctx context.Context, _ int) error {
		key := fmt.Sprintf("%s%d", prefix, keys.Add(1)) // never the same twice
		granted := make(chan struct{})
		mu.Lock()
		waiting[key] = granted
		mu.Unlock()
		if _, err := c.Put(ctx, key, "", clientv3.WithLease(lease.ID)); err != nil {
			return err
		}
		select {
		case <-granted:
		case <-ended:
			return errors.New("etcd queue: the watch ended")
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := c.Delete(ctx, key)
		return err
	}
}

// zookeeperRows compare the lock with the library's own, which is the same recipe, and with the herd:
// three servers on this machine's disk with fsync, one session for all workers of each.
func zookeeperRows() []row {
	const name = "zookeeper acquire+release / "
	against := func(workers int, key func(int) string, herd bool) func(testing.TB) (subject, peer measurement) {
		return func(b testing.TB) (subject, peer measurement) {
			addrs := startZookeeper(b)
			ours := zkLock(b, addrs, false)
			await(b, "zookeeper", func(ctx context.Context) error { return pair(ctx, ours, "ready") })
			other := pairs(zkLock(b, addrs, herd), func(w int) string { return "herd-" + key(w) })
			if !herd {
				other = zkLibrary(b, addrs, workers, key)
			}
			return rate(workers, pairs(ours, key)), rate(workers, other)
		}
	}
	var rows []row
	for _, workers := range []int{1, 16, 64} {
		name := fmt.Sprintf(name+"the library's zk.Lock, distinct keys, %d workers", workers)
		rows = append(rows, row{name: name, reach: 1, unit: "ops/s", start: against(workers, ownKey, false)})
	}
	return append(rows,
		row{name: name + "the library's zk.Lock, one key, 16 workers", reach: 1, unit: "ops/s", start: against(16, oneKey, false)},
		row{name: name + "zookeeper:watch=all (the herd), one key, 16 workers", unit: "ops/s", start: against(16, oneKey, true)},
		row{name: name + "zookeeper:watch=all (the herd), one key, 64 workers", unit: "ops/s", start: against(64, oneKey, true)},
	)
}

func zkLock(b testing.TB, addrs []string, watchAll bool) locks.Locker {
	b.Helper()
	o := zklock.DefaultOptions()
	o.Session, o.WatchAll = time.Minute, watchAll
	return locktest.Open(b, zklock.New(zklock.Config{Addrs: addrs, Options: o}), nil)
}

func zkLibrary(b testing.TB, addrs []string, workers int, key func(int) string) pass {
	b.Helper()
	conn, _, err := zk.Connect(addrs, time.Minute, zk.WithLogInfo(false))
	must.Do(b, err)
	b.Cleanup(conn.Close)
	all := make([]*zk.Lock, workers)
	for i := range all {
		all[i] = zk.NewLock(conn, "/peer/"+key(i), zk.WorldACL(zk.PermAll))
	}
	return func(_ context.Context, w int) error {
		if err := all[w].Lock(); err != nil {
			return err
		}
		return all[w].Unlock()
	}
}

func startZookeeper(b testing.TB) (clients []string) {
	b.Helper()
	const n = 3
	addrs := freePorts(b, 3*n)
	var peers []zookeepernode.Peer
	for i := range n {
		peers = append(peers, zookeepernode.Peer{
			Name: fmt.Sprint("zookeeper-", i+1), Quorum: zookeepernode.Port{Addr: addrs[n+i]}, Election: zookeepernode.Port{Addr: addrs[2*n+i]},
		})
	}
	for i, p := range peers {
		dir := filepath.Join(b.TempDir(), p.Name)
		java, args, err := zookeepernode.Prepare(dir, p.Name, map[string]string{
			zookeepernode.PortClient: addrs[i], zookeepernode.PortQuorum: p.Quorum.Addr, zookeepernode.PortElection: p.Election.Addr,
		}, slices.Delete(slices.Clone(peers), i, i+1))
		must.Do(b, err)
		cmd := exec.Command(java, args...)
		cmd.Dir = dir
		start(b, cmd)
	}
	return addrs[:1] // the leader answers faster than the others, which must ask it: all clients dial the same server
}
