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
	"locklab/locks/clock"
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

// serverRows compare locks on PostgreSQL with the statements that such a lock cannot do without, the locks etcd and
// zookeeper with those of the libraries, and raft with etcd's: servers on this machine's disk with fsync, without any
// link between them. etcd's client spreads its requests over the members, as it does by default.
func serverRows() (all []row) {
	add := func(name string, reach float64, start starter) { all = append(all, row{name, reach, "ops/s", start}) }
	add("postgres:lease acquire+release / its bare statements by pgx, a key each, 16 goroutines", 0.85, againstStatements("postgres:lease",
		"UPDATE bench_locks SET owner = 'bench', fence = fence + 1, expires = now() + interval '3 s' WHERE resource = $1 AND expires < now() RETURNING fence",
		"UPDATE bench_locks SET expires = '-infinity', owner = NULL WHERE resource = $1 RETURNING fence"))
	add("postgres:advisory acquire+release / its bare statements by pgx, a key each, 16 goroutines; with a token", 0.85, againstStatements("postgres:advisory",
		"WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 1))) SELECT nextval('bench_fence') FROM locked",
		"SELECT pg_advisory_unlock(hashtextextended($1, 1))::int::bigint"))

	etcd := "etcd lock+unlock / concurrency.Mutex, 16 workers with leases of a minute, "
	add(etcd+"distinct keys, a client each", 1, etcdAgainstMutex(ownKey))
	add(etcd+"one key, a client each; etcd's Mutex hands over on a 100 ms timer", 1, etcdAgainstMutex(oneKey))

	library := "zookeeper acquire+release / the library's zk.Lock, "
	for _, n := range []int{1, 16, 64} {
		add(fmt.Sprintf(library+"distinct keys, %d workers", n), 1, zookeeperAgainst(n, ownKey, false))
	}
	add(library+"one key, 16 workers", 1, zookeeperAgainst(16, oneKey, false))
	for _, n := range []int{16, 64} {
		add(fmt.Sprintf("zookeeper acquire+release / zookeeper:watch=all (the herd), one key, %d workers", n), 0, zookeeperAgainst(n, oneKey, true))
	}

	for n, reach := range inOrder([]int{1, 16, 64}, []float64{1.3, 2, 3}) {
		add(fmt.Sprintf("raft lock+unlock / etcd Mutex, distinct keys, %d workers", n), reach, raftAgainst(n, ownKey, etcdMutexes))
	}
	add("raft lock+unlock / etcd Mutex, one key, 16 workers; etcd's Mutex hands over on a 100 ms timer", 10, raftAgainst(16, oneKey, etcdMutexes))
	add("raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, 16 workers", 1, raftAgainst(16, oneKey, etcdQueue))
	return all
}

// start starts a process that is killed with the row, and returns its ends. That of its input tells our own to end.
func start(b testing.TB, cmd *exec.Cmd) (stdin io.Writer, stdout io.Reader) {
	b.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must.Do(b, errors.Join(err1, err2, cmd.Start()))
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return in, out
}

// startPeer starts this program again, to serve what TestMain calls kind, with one processor as the lab's nodes have.
func startPeer(b testing.TB, kind string, config any) (stdin io.Writer, stdout io.Reader) {
	b.Helper()
	text, err := json.Marshal(config)
	must.Do(b, err)
	cmd := exec.Command(os.Args[0], "peer", kind, string(text))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return start(b, cmd)
}

func freePorts(b testing.TB, n int) (addrs []string) {
	b.Helper()
	for range n {
		addrs = append(addrs, locktest.FreeAddr(b))
	}
	return addrs
}

// await tries until the server answers.
func await(b testing.TB, try func(context.Context) error) {
	b.Helper()
	must.Do(b, nodeprocess.Await(locktest.Within(b), func() error {
		once, done := context.WithTimeout(b.Context(), time.Second)
		defer done()
		return try(once)
	}))
}

// againstStatements has the lock run against two statements that return a number, by pgx from a pool of the same size,
// on a table of the locks' form with a row for each worker.
func againstStatements(lock, take, give string) starter {
	const workers = 16 // as many as each side has connections
	return func(b testing.TB) (subject, peer measurement) {
		url := startPostgres(b)
		pool, err := pgxpool.New(b.Context(), fmt.Sprintf("%s&pool_max_conns=%d", url, workers))
		must.Do(b, err)
		b.Cleanup(pool.Close)
		await(b, pool.Ping)
		options := locktest.Options(b, pglock.ParseOptions, fmt.Sprintf("%s,conns=%d", lock, workers))
		l, err := pglock.New(pglock.Config{URL: url, Options: options})
		locktest.Open(b, l, err)
		_, err = pool.Exec(b.Context(), fmt.Sprintf(`CREATE SEQUENCE bench_fence;
CREATE TABLE bench_locks (resource text PRIMARY KEY, owner text, fence bigint NOT NULL DEFAULT 0, expires timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50);
INSERT INTO bench_locks (resource) SELECT 'key-' || n FROM generate_series(0, %d) AS n`, workers-1))
		must.Do(b, err)
		return rate(workers, of(ownKey, l).pair), rate(workers, func(ctx context.Context, w int) error {
			return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { // both on one, which an advisory lock belongs to
				var n int64
				err := conn.QueryRow(ctx, take, ownKey(w)).Scan(&n)
				if err == nil {
					err = conn.QueryRow(ctx, give, ownKey(w)).Scan(&n)
				}
				return err
			})
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
	return postgresnode.URL(addr)
}

// etcdAgainstMutex has a client for each worker: the callers of one client of the lock queue in it, and would hand over
// without etcd. 16 Mutexes of one client would share its connections, and have etcd answer several at once.
func etcdAgainstMutex(key func(worker int) string) starter {
	return func(b testing.TB) (subject, peer measurement) {
		const workers = 16
		addrs := startEtcd(b).Endpoints()
		options := etcdlock.DefaultOptions()
		options.TTL = etcdLease // with its own of 3 s it would renew 20 times as often as the Mutex
		var ours []locks.Locker
		theirs := make([]taker, workers)
		for w := range workers {
			l, err := etcdlock.New(etcdlock.Config{Addrs: addrs, Options: options})
			ours = append(ours, locktest.Open(b, l, err))
			theirs[w] = etcdMutexes(b, dialEtcd(b, addrs), 1, func(int) string { return "mutex-" + key(w) })
		}
		return rate(workers, of(key, ours...).pair), rate(workers, func(ctx context.Context, w int) error { return theirs[w].pair(ctx, 0) })
	}
}

// raftAgainst has one client process, and three of servers.
func raftAgainst(workers int, key func(int) string, peers func(testing.TB, *clientv3.Client, int, func(int) string) taker) starter {
	return func(b testing.TB) (subject, peer measurement) {
		return rate(workers, of(key, startRaft(b)).pair), rate(workers, peers(b, startEtcd(b), workers, key).pair)
	}
}

// startRaft starts three servers by running this program again, and returns a client when there is a leader.
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
		startPeer(b, "raft", c)
	}
	l, err := raftlock.New(raftlock.Config{Servers: servers, Client: "bench"})
	locktest.Open(b, l, err)
	must.Do(b, of(oneKey, l).pair(b.Context(), 0))
	return l
}

// serveRaft is a server's process.
func serveRaft(ctx context.Context, config []byte) error {
	var c raftnode.Config
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	c.Clock, c.Log = clock.System(), slog.New(slog.DiscardHandler)
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
	await(b, func(ctx context.Context) error { _, err := c.Get(ctx, "ready"); return err }) // there is a leader
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
func etcdMutexes(b testing.TB, c *clientv3.Client, workers int, key func(int) string) taker {
	b.Helper()
	mutexes := make([]*concurrency.Mutex, workers)
	for i := range mutexes {
		session, err := concurrency.NewSession(c, concurrency.WithTTL(int(etcdLease/time.Second)))
		must.Do(b, err)
		b.Cleanup(session.Orphan)
		mutexes[i] = concurrency.NewMutex(session, key(i))
	}
	return func(ctx context.Context, w int) (func(context.Context) error, error) {
		return mutexes[w].Unlock, mutexes[w].Lock(ctx)
	}
}

// etcdQueue is a mutex on etcd's leases and watches, as a peer to measure against. As in etcd's own Mutex, each waiter
// has a key with a lease, and the oldest key holds. But that one opens a watch from a past revision for every wait, which
// etcd serves on a timer of 100 ms; this one has a single watch, open all the time, whose events etcd sends at once.
func etcdQueue(b testing.TB, c *clientv3.Client, _ int, key func(int) string) taker {
	b.Helper()
	prefix := key(0) + "/"
	lease, err := c.Grant(b.Context(), 600) // longer than any row takes
	must.Do(b, err)
	watching, cancel := context.WithCancel(b.Context())
	events, ended := c.Watch(watching, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify()), make(chan struct{})
	created := <-events
	must.Do(b, created.Err())
	b.Cleanup(func() { cancel(); <-ended })
	var waiting sync.Map // key -> chan struct{}, closed when the key is the oldest
	go func() {
		defer close(ended)
		var order []string // keys that exist, the oldest first, as far as the watch has told
		for response := range events {
			for _, e := range response.Events { // in the order of their revisions
				key := string(e.Kv.Key)
				if e.Type == clientv3.EventTypeDelete {
					order = slices.DeleteFunc(order, func(k string) bool { return k == key })
				} else {
					order = append(order, key)
				}
				if len(order) > 0 {
					if granted, waits := waiting.LoadAndDelete(order[0]); waits {
						close(granted.(chan struct{}))
					}
				}
			}
		}
	}()
	var keys atomic.Int64
	return func(ctx context.Context, _ int) (func(context.Context) error, error) {
		key := fmt.Sprintf("%s%d", prefix, keys.Add(1)) // never the same twice
		granted := make(chan struct{})
		waiting.Store(key, granted)
		if _, err := c.Put(ctx, key, "", clientv3.WithLease(lease.ID)); err != nil {
			return nil, err
		}
		select {
		case <-granted:
			return func(ctx context.Context) error { _, err := c.Delete(ctx, key); return err }, nil
		case <-ended:
			return nil, errors.New("etcd queue: the watch ended")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// zookeeperAgainst has one session for all workers of each side. The library's lock is the same recipe.
func zookeeperAgainst(workers int, key func(int) string, herd bool) starter {
	return func(b testing.TB) (subject, peer measurement) {
		addrs := startZookeeper(b)
		lock := func(all bool) locks.Locker {
			o := zklock.DefaultOptions()
			o.Session, o.WatchAll = time.Minute, all
			return locktest.Open(b, zklock.New(zklock.Config{Addrs: addrs, Options: o}), nil)
		}
		ours := of(key, lock(false))
		await(b, func(ctx context.Context) error { return ours.pair(ctx, 0) })
		other := of(func(w int) string { return "herd-" + key(w) }, lock(herd))
		if !herd {
			other = zkLibrary(b, addrs, workers, key)
		}
		return rate(workers, ours.pair), rate(workers, other.pair)
	}
}

func zkLibrary(b testing.TB, addrs []string, workers int, key func(int) string) taker {
	b.Helper()
	conn, _, err := zk.Connect(addrs, time.Minute, zk.WithLogInfo(false))
	must.Do(b, err)
	b.Cleanup(conn.Close)
	all := make([]*zk.Lock, workers)
	for i := range all {
		all[i] = zk.NewLock(conn, "/peer/"+key(i), zk.WorldACL(zk.PermAll))
	}
	return func(_ context.Context, w int) (func(context.Context) error, error) {
		return func(context.Context) error { return all[w].Unlock() }, all[w].Lock()
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
