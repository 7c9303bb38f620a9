package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/pglock"
	"locklab/locks/raftlock"
	"locklab/locks/redis"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
	"locklab/locks/zklock"
	"locklab/nodes/diskfault"
	"locklab/nodes/postgresnode"
	nodeprocess "locklab/nodes/process"
	"locklab/nodes/raftnode"
	"locklab/nodes/zookeepernode"
	"locklab/reports/compare/stats"
	"locklab/workloads/check"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// patience is how many times as many rounds a row gets whose first rounds leave open whether it reaches its figure.
const patience = 4

var (
	rounds  = flag.Int("rounds", 6, fmt.Sprintf("counted rounds per row, after one that warms up; %d times as many while it is open whether a figure is reached", patience))
	each    = flag.Duration("each", time.Second, "how long one measurement takes")
	pattern = flag.String("rows", "", "regular expression: only rows whose name matches")
	strict  = flag.Bool("check", false, "fail if a figure to reach is surely missed")
)

// row is one line of the table: a ratio of two subjects measured in turn, so that it holds although the machine's
// speed drifts.
type row struct {
	name  string  // the subject / its peer
	reach float64 // the figure to reach: of times at most, of rates at least; 0: the ratio is only reported
	unit  string  // of the two figures
	start starter
}

// starter makes the two subjects ready. peer is nil for a figure that stands for itself; then the row shows subject
// instead of a ratio.
type starter func(b testing.TB) (subject, peer measurement)

// measurement runs once for about the given time and returns its figure.
type measurement func(ctx context.Context, d time.Duration) (float64, error)

func rows() (all []row) {
	add := func(reach float64, unit string, start starter, name string, args ...any) {
		all = append(all, row{fmt.Sprintf(name, args...), reach, unit, start})
	}

	// redlock against redsync and the floor, and the lock on one instance against its bare commands, on five
	// redis-server processes in memory on the loopback.
	for i, n := range []int{1, 16, 64} {
		add([]float64{1.4, 3.5, 6}[i], "ops/s", func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			return rate(n, of(ownKey, s.redlock("redlock"))), rate(n, s.redsync(n, ownKey))
		}, "redlock acquire+release / redsync, a key each, %d goroutines of one process over shared pipelines", n)
	}
	add(1.3, "us", func(b testing.TB) (subject, peer measurement) {
		s := startRedis(b)
		return p50(of(oneKey, s.redlock("redlock"))), p50(s.parallelSets)
	}, "redlock acquire p50 / 5 parallel SETs p50, 1 worker")
	// The clients know nothing of each other, as processes do. The users of redsync share a pool of connections, as
	// goroutines of one process do; it makes them no slower.
	add(1, "/s", func(b testing.TB) (subject, peer measurement) {
		s := startRedis(b)
		return changes(16, of(oneKey, many(16, s.redlock, "redlock:delay=1ms")...)), changes(16, s.redsync(16, oneKey))
	}, "redlock:delay=1ms (textbook), one key, 16 clients of 1 worker: owner changes / redsync, both with 1 ms delay, drawn from 0.5 to 1.5 ms")
	for i, n := range []int{1, 16, 64} {
		add([]float64{0.9, 1.5, 2}[i], "ops/s", func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			return rate(n, of(ownKey, s.redis("redis"))), rate(n, s.bare)
		}, "redis acquire+release / SET NX PX and compare-and-delete by go-redis, a key each, %d goroutines", n)
	}
	// With two clients one waits, and the ratio is that of a message to a pause: the figure to reach is for that.
	for i, n := range []int{2, 16} {
		why := []string{"1 waits: a message against a pause", "15 wait: one of these polls every 3 ms, and a message wakes them all for one grant"}[i]
		add([]float64{20, 0}[i], "/s", func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			return changes(n, of(oneKey, many(n, s.redis, "redis:pubsub")...)), changes(n, of(oneKey, many(n, s.redis, "redis:delay=50ms")...))
		}, "redis:pubsub, one key, %d clients of 1 worker: owner changes / redis polling every 50 ms; %s", n, why)
	}

	// Locks on PostgreSQL against the statements that such a lock cannot do without, the locks etcd and zookeeper against
	// those of the libraries, and raft against etcd's: servers on this machine's disk with fsync, without any link
	// between them. etcd's client spreads its requests over the members, as it does by default.
	add(0.85, "ops/s", againstStatements("postgres:lease",
		"UPDATE bench_locks SET owner = 'bench', fence = fence + 1, expires = now() + interval '3 s' WHERE resource = $1 AND expires < now() RETURNING fence",
		"UPDATE bench_locks SET expires = '-infinity', owner = NULL WHERE resource = $1 RETURNING fence",
	), "postgres:lease acquire+release / its bare statements by pgx, a key each, 16 goroutines")
	add(0.85, "ops/s", againstStatements("postgres:advisory",
		"WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 1))) SELECT nextval('bench_fence') FROM locked",
		"SELECT pg_advisory_unlock(hashtextextended($1, 1))::int::bigint",
	), "postgres:advisory acquire+release / its bare statements by pgx, a key each, 16 goroutines; with a token")
	const etcd = "etcd lock+unlock / concurrency.Mutex, 16 workers with leases of a minute, "
	add(1, "ops/s", etcdAgainstMutex(ownKey), etcd+"distinct keys, a client each")
	add(1, "ops/s", etcdAgainstMutex(oneKey), etcd+"one key, a client each; etcd's Mutex hands over on a 100 ms timer")
	const library = "zookeeper acquire+release / the library's zk.Lock, "
	for _, n := range []int{1, 16, 64} {
		add(1, "ops/s", zookeeperAgainst(n, ownKey, false), library+"distinct keys, %d workers", n)
	}
	add(1, "ops/s", zookeeperAgainst(16, oneKey, false), library+"one key, 16 workers")
	for _, n := range []int{16, 64} {
		add(0, "ops/s", zookeeperAgainst(n, oneKey, true), "zookeeper acquire+release / zookeeper:watch=all (the herd), one key, %d workers", n)
	}
	for i, n := range []int{1, 16, 64} {
		add([]float64{1.3, 2, 3}[i], "ops/s", raftAgainst(n, ownKey, etcdMutexes), "raft lock+unlock / etcd Mutex, distinct keys, %d workers", n)
	}
	add(10, "ops/s", raftAgainst(16, oneKey, etcdMutexes), "raft lock+unlock / etcd Mutex, one key, 16 workers; etcd's Mutex hands over on a 100 ms timer")
	add(1, "ops/s", raftAgainst(16, oneKey, etcdQueue), "raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, 16 workers")

	// One peer, in this process, against n-1 others, each in a process of its own. All of them also serve the two floors:
	// an echo over plain TCP, and the mesh with no locking logic on it.
	for i, n := range []int{2, 3, 6} {
		add([]float64{2, 4, 15}[i], "us", func(b testing.TB) (subject, peer measurement) {
			g := startGroup(b, n, "multiphase")
			return g.latency(func(acquire, _ float64) float64 { return acquire }), g.latency(func(_, echo float64) float64 { return echo })
		}, "multiphase acquire p50 / round trip of one message, %d processes", n)
	}
	for i, floor := range []string{"request-grant rounds", "rounds nobody waits for"} {
		add([]float64{0.5, 0}[i], "ops/s", func(b testing.TB) (subject, peer measurement) {
			g := startGroup(b, 3, "multiphase")
			return rate(inFlight, of(ownKey, g.lock)), []measurement{g.bareRate, g.bareEchoRate}[i]
		}, "multiphase, 1,000 names in flight / bare %s, 3 processes", floor)
	}
	for i, n := range []int{2, 3} { // the headline has two masters; three show the cost of a further one
		add([]float64{10, 0}[i], "ops/s", func(b testing.TB) (subject, peer measurement) {
			return rate(64, of(ownKey, startGroup(b, n, "multiphase").lock)), rate(64, of(ownKey, startRedis(b).redlock("redlock")))
		}, "multiphase acquire+release, %d processes / redlock, a name each, 64 workers", n)
	}
	// One acquisition among the peers serves the waiters of a process in turn, or each makes its own.
	add(3, "ops/s", func(b testing.TB) (subject, peer measurement) {
		return startGroup(b, 2, "multiphase:cohort").hotRate, startGroup(b, 2, "multiphase").hotRate
	}, "multiphase:cohort / multiphase, one resource, 64 workers of 2 processes")

	// What the links add to what is measured through them, how late the generator is, and how fast the checker.
	add(4, "us", func(b testing.TB) (subject, peer measurement) { return path(b, new(time.Duration)), path(b, nil) },
		"link: round trip through a link p50 / direct p50")
	add(150, "us", func(testing.TB) (subject, peer measurement) { return generatorLateness, nil },
		"generator: lateness p99 at 10,000 operations/s")
	add(2, "us", func(testing.TB) (subject, peer measurement) { return generatorLateness, bareLateness },
		"generator: lateness p99 / that of a bare loop that sleeps until the same moments")
	add(1, "s", startChecker, "checker: read and check a history of a million events")
	add(1./3, "ops/s", func(b testing.TB) (subject, peer measurement) {
		return rate(8, syncedSets(b, true)), rate(8, syncedSets(b, false))
	}, "power-loss: SETs of a Redis that syncs each, watched / not watched, 8 connections")
	for _, delay := range []time.Duration{time.Millisecond, 300 * time.Microsecond} {
		add(100, "us", func(b testing.TB) (subject, peer measurement) {
			plain, delayed := path(b, new(time.Duration)), path(b, &delay)
			return func(ctx context.Context, d time.Duration) (float64, error) {
				without, err1 := plain(ctx, d/2) // what a link costs without a delay is taken off
				with, err2 := delayed(ctx, d/2)
				return math.Abs(with - without - micros(delay)), cmp.Or(err1, err2)
			}, nil
		}, "link: error of an injected delay of %v, p50", delay)
	}
	return all
}

// TestMain makes this program the other process of a row where it was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "disk" {
		fmt.Fprintln(os.Stderr, "bench disk:", diskfault.Exec(os.Args[2:]))
		os.Exit(1)
	}
	if len(os.Args) != 4 || os.Args[1] != "peer" {
		os.Exit(m.Run())
	}
	serve := map[string]func(ctx context.Context, config []byte) error{"raft": serveRaft, "multiphase": serveMultiphase}[os.Args[2]]
	if err := serve(context.Background(), []byte(os.Args[3])); err != nil {
		fmt.Fprintf(os.Stderr, "bench peer %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

func BenchmarkRows(b *testing.B) {
	match, err := regexp.Compile(*pattern)
	if err != nil || *rounds < 1 || *each <= 0 {
		b.Fatalf("-rows wants a regular expression, -rounds and -each more than 0: %v", err)
	}
	fmt.Printf("ratios are medians of %d interleaved rounds of %v, or of %d where these leave open whether the figure to reach is, "+
		"[interval of the median, at 95 %% from 6 rounds on]; open: so do all rounds\n", *rounds, *each, patience**rounds)
	for _, r := range rows() {
		if match.MatchString(r.name) {
			b.Run(r.name, r.measure)
		}
	}
}

// measure runs subject and peer in turn, changing the order, and prints the row's line.
func (r row) measure(b *testing.B) {
	subject, peer := r.start(b)
	var figures [2][]float64
	var ratios []float64
	var low, high float64
	open := func() bool { return low < r.reach && r.reach < high }
	for i := 0; i <= *rounds || i <= patience**rounds && open(); i++ { // the first round warms up and is not counted
		now := [2]float64{0, 1}
		for n := range now {
			which := (n + i) % 2
			if m := []measurement{subject, peer}[which]; m != nil {
				var err error
				now[which], err = m(b.Context(), *each)
				must.Do(b, err)
			}
		}
		if i > 0 {
			figures[0], figures[1], ratios = append(figures[0], now[0]), append(figures[1], now[1]), append(ratios, now[0]/now[1])
			low, high, _ = stats.Interval(ratios)
		}
	}
	sign, missed := ">=", high < r.reach
	if r.unit == "us" || r.unit == "s" {
		sign, missed = "<=", r.reach != 0 && low > r.reach
	}
	target, mark := fmt.Sprintf("%s %.4g", sign, r.reach), "reached"
	switch {
	case r.reach == 0:
		target, mark = "reported", ""
	case missed:
		mark = "MISSED"
	case open():
		mark = "open"
	}
	absolute := fmt.Sprintf("%.4g", result.Median(figures[0]))
	if peer != nil {
		absolute += fmt.Sprintf(" / %.4g", result.Median(figures[1]))
	}
	ratio := result.Median(ratios)
	fmt.Printf("%-72s %8.3g  [%.3g .. %.3g] of %d  %-9s %-8s %s %s\n", r.name, ratio, low, high, len(ratios), target, mark, absolute, r.unit)
	b.ReportMetric(0, "ns/op") // which would be those of all rounds together
	b.ReportMetric(ratio, "ratio")
	if missed && *strict {
		b.Errorf("%s: %.3g, want %s", r.name, ratio, target)
	}
}

// taker has a worker take a lock, and says how it gives it back.
type taker func(ctx context.Context, worker int) (giveBack, error)

type giveBack = func(context.Context) error

// pair is an acquisition and its release.
func (take taker) pair(ctx context.Context, worker int) error {
	release, err := take(ctx, worker)
	if err != nil {
		return err
	}
	return release(ctx)
}

// of has each worker take its key of a client, which are used in turn.
func of(key func(worker int) string, clients ...locks.Locker) taker {
	return func(ctx context.Context, w int) (giveBack, error) {
		lease, err := clients[w%len(clients)].Acquire(ctx, key(w))
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

func many(n int, client func(spec string) locks.Locker, spec string) (all []locks.Locker) {
	for range n {
		all = append(all, client(spec))
	}
	return all
}

// nothing is how what is no lock is given back.
func nothing(context.Context) error { return nil }

// loop has workers do something over and over, until one fails, and says how often they did, and took.
func loop(ctx context.Context, d time.Duration, workers int, once func(ctx context.Context, worker int) error) (n int64, took time.Duration, err error) {
	var all atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	begin := clock.Mono()
	for w := range workers {
		group.Go(func() error {
			done := int64(0)
			defer func() { all.Add(done) }()
			for ; since(begin) < d && ctx.Err() == nil; done++ {
				if err := once(ctx, w); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	return all.Load(), since(begin), err
}

// rate is how often per second workers together take something and give it back.
func rate(workers int, take taker) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		n, took, err := loop(ctx, d, workers, take.pair)
		return float64(n) / took.Seconds(), err
	}
}

// changes is how often per second the holder changes while workers pass through a lock.
func changes(workers int, take taker) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var last, changes atomic.Int64 // last is the worker + 1
		_, took, err := loop(ctx, d, workers, func(ctx context.Context, w int) error {
			release, err := take(ctx, w)
			if err != nil {
				return err
			}
			if last.Swap(int64(w)+1) != int64(w)+1 {
				changes.Add(1)
			}
			return release(ctx)
		})
		return math.Round(float64(changes.Load()) / took.Seconds()), err
	}
}

// p50 is the median, in microseconds, of how long it takes to take something; to give it back is not timed.
func p50(take taker) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var all []float64
		_, _, err := loop(ctx, d, 1, func(ctx context.Context, _ int) error {
			begin := clock.Mono()
			release, err := take(ctx, 0)
			if all = append(all, micros(since(begin))); err != nil {
				return err
			}
			return release(ctx)
		})
		return result.Median(all), err
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func since(begin int64) time.Duration { return time.Duration(clock.Mono() - begin) }

// ownKey, a key for each worker, and oneKey, the same for all, are names of what is locked.
func ownKey(worker int) string { return fmt.Sprint("key-", worker) }
func oneKey(int) string        { return "key" }

// TestRowsCanBeMeasured measures a row of each kind, for a moment.
func TestRowsCanBeMeasured(t *testing.T) {
	kinds := regexp.MustCompile(`^(redlock acquire.* 16|redis:pubsub.* 2 clients|postgres:lease|etcd .*distinct|zookeeper .*herd.* 16|raft .*our own|` +
		`multiphase acquire p50.* 3|multiphase, 1,000|multiphase:cohort|link:|generator: lateness p99 /)`)
	for _, r := range rows() {
		if !kinds.MatchString(r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			subject, peer := r.start(t)
			for which, m := range []measurement{subject, peer} {
				if m == nil {
					continue
				}
				if figure, err := m(t.Context(), 100*time.Millisecond); err != nil || figure <= 0 {
					t.Errorf("side %d: %v %s: %v", which, figure, r.unit, err)
				}
			}
		})
	}
}

// redisServers are five servers and the clients that are measured on them.
type redisServers struct {
	b       testing.TB
	addrs   []string
	clients []*goredis.Client // go-redis as it is by default, for the peers
	pools   []redsyncredis.Pool
}

func startRedis(b testing.TB) *redisServers {
	b.Helper()
	s := &redisServers{b: b}
	for _, server := range redistest.Start(b, 5) {
		client := server.Client()
		b.Cleanup(func() { _ = client.Close() }) // its end cannot change a figure any more
		s.addrs, s.clients, s.pools = append(s.addrs, server.Addr()), append(s.clients, client), append(s.pools, pool.NewPool(client))
	}
	return s
}

func (s *redisServers) redlock(spec string) locks.Locker {
	l, err := redlock.New(redlock.Config{Addrs: s.addrs, Options: locktest.Options(s.b, redlock.ParseOptions, spec)})
	return locktest.Open(s.b, l, err)
}

func (s *redisServers) redis(spec string) locks.Locker {
	l, err := redis.New(redis.Config{Addr: s.addrs[0], Options: locktest.Options(s.b, redis.ParseOptions, spec)})
	return locktest.Open(s.b, l, err)
}

// redsync has a mutex for each worker. In place of its own pause of 50 to 250 ms, which is drawn too, it has one of
// 1 ms as redlock:delay=1ms does; its setting for another one is fixed, and waiters would come back in step.
func (s *redisServers) redsync(workers int, key func(worker int) string) taker {
	mutexes, all := make([]*redsync.Mutex, workers), redsync.New(s.pools...)
	for w := range mutexes {
		pauses := seed.Seed(1).Child(fmt.Sprintf("redsync %d", w)).Rand()
		mutexes[w] = all.NewMutex("redsync-"+key(w), redsync.WithTries(math.MaxInt32), redsync.WithRetryDelayFunc(func(int) time.Duration {
			return time.Millisecond/2 + time.Duration(pauses.Int64N(int64(time.Millisecond)+1))
		}))
	}
	return func(ctx context.Context, w int) (giveBack, error) {
		return func(ctx context.Context) error { _, err := mutexes[w].UnlockContext(ctx); return err }, mutexes[w].LockContext(ctx)
	}
}

const bareValue = "0123456789abcdef0123456789abcdef"

// parallelSets is the floor: the round trips of an acquisition and nothing else.
func (s *redisServers) parallelSets(ctx context.Context, _ int) (giveBack, error) {
	var sets errgroup.Group
	for _, c := range s.clients {
		sets.Go(func() error { return c.SetNX(ctx, "bench-floor", bareValue, 3*time.Second).Err() })
	}
	return func(ctx context.Context) (err error) {
		for _, c := range s.clients {
			err = errors.Join(err, c.Del(ctx, "bench-floor").Err())
		}
		return err
	}, sets.Wait()
}

var bareRelease = goredis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// bare is the two commands of the lock and nothing else, over go-redis's own pool.
func (s *redisServers) bare(ctx context.Context, w int) (giveBack, error) {
	key, c := fmt.Sprintf("bare-%d", w), s.clients[0]
	return func(ctx context.Context) error { return bareRelease.Run(ctx, c, []string{key}, bareValue).Err() },
		c.SetNX(ctx, key, bareValue, 3*time.Second).Err()
}

// syncedSets are a server's whose writes and syncs the agent sees, as its power may be cut; or not.
func syncedSets(b testing.TB, watched bool) taker {
	b.Helper()
	server, err := exec.LookPath("redis-server")
	must.Do(b, err)
	dir, addr := b.TempDir(), locktest.FreeAddr(b)
	_, port, err := net.SplitHostPort(addr)
	must.Do(b, err)
	args := []string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", dir}
	cmd := exec.Command(server, args...)
	if watched {
		given, kept, err := diskfault.Sockets()
		must.Do(b, err)
		disk, gone, served := diskfault.New(dir), make(chan struct{}), make(chan error, 1)
		must.Do(b, disk.WatchPower(dir+".kept"))
		cmd = exec.Command(os.Args[0], append([]string{"disk"}, diskfault.Command(3, diskfault.Power, server, args)...)...)
		cmd.ExtraFiles = []*os.File{given}
		go func() { served <- disk.Serve(kept, gone) }()
		b.Cleanup(func() {
			close(gone)
			must.Do(b, <-served)
			disk.Close()
		})
	}
	start(b, cmd)
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	b.Cleanup(func() { _ = client.Close() })
	locktest.Eventually(b, "the server answers", func() bool { return client.Ping(b.Context()).Err() == nil })
	return func(ctx context.Context, worker int) (giveBack, error) {
		return nothing, client.Set(ctx, ownKey(worker), "held", 0).Err()
	}
}

// start starts a process that is killed with the row, and returns its input and output. The end of its input tells our
// own to end.
func start(b testing.TB, cmd *exec.Cmd) io.ReadWriter {
	b.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must.Do(b, errors.Join(err1, err2, cmd.Start()))
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return struct {
		io.Reader
		io.Writer
	}{out, in}
}

// startPeer starts this program again, to serve what TestMain calls kind, with one processor as the lab's nodes have.
func startPeer(b testing.TB, kind string, config any) io.ReadWriter {
	b.Helper()
	text, err := json.Marshal(config)
	must.Do(b, err)
	cmd := exec.Command(os.Args[0], "peer", kind, string(text))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	return start(b, cmd)
}

func freePorts(b testing.TB, n int) (addrs []string) {
	b.Helper()
	for range n {
		addrs = append(addrs, locktest.FreeAddr(b))
	}
	return addrs
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
		locktest.Eventually(b, "the server answers", func() bool { return pool.Ping(b.Context()) == nil })
		options := locktest.Options(b, pglock.ParseOptions, fmt.Sprintf("%s,conns=%d", lock, workers))
		l, err := pglock.New(pglock.Config{URL: url, Options: options})
		locktest.Open(b, l, err)
		_, err = pool.Exec(b.Context(), fmt.Sprintf(`CREATE SEQUENCE bench_fence;
CREATE TABLE bench_locks (resource text PRIMARY KEY, owner text, fence bigint NOT NULL DEFAULT 0, expires timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50);
INSERT INTO bench_locks (resource) SELECT 'key-' || n FROM generate_series(0, %d) AS n`, workers-1))
		must.Do(b, err)
		return rate(workers, of(ownKey, l)), rate(workers, func(ctx context.Context, w int) (giveBack, error) {
			conn, err := pool.Acquire(ctx) // both on one, which an advisory lock belongs to
			if err != nil {
				return nil, err
			}
			var n int64
			return func(ctx context.Context) error {
				defer conn.Release()
				return conn.QueryRow(ctx, give, ownKey(w)).Scan(&n)
			}, conn.QueryRow(ctx, take, ownKey(w)).Scan(&n)
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
		Recorder: history.NewWriter(io.Discard, "bench", postgresnode.Name), Log: slog.New(slog.DiscardHandler),
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
		return rate(workers, of(key, ours...)), rate(workers, func(ctx context.Context, w int) (giveBack, error) { return theirs[w](ctx, 0) })
	}
}

// raftAgainst has one client process, and three of servers.
func raftAgainst(workers int, key func(int) string, peers func(testing.TB, *clientv3.Client, int, func(int) string) taker) starter {
	return func(b testing.TB) (subject, peer measurement) {
		return rate(workers, of(key, startRaft(b))), rate(workers, peers(b, startEtcd(b), workers, key))
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
	_, err := c.Get(locktest.Within(b), "ready") // waits for a leader
	must.Do(b, err)
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
	return func(ctx context.Context, w int) (giveBack, error) {
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
				if key := string(e.Kv.Key); e.Type == clientv3.EventTypeDelete {
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
	return func(ctx context.Context, _ int) (giveBack, error) {
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
		must.Do(b, ours.pair(locktest.Within(b), 0)) // waits for a leader
		if herd {
			return rate(workers, ours), rate(workers, of(func(w int) string { return "herd-" + key(w) }, lock(true)))
		}
		conn, _, err := zk.Connect(addrs, time.Minute, zk.WithLogInfo(false))
		must.Do(b, err)
		b.Cleanup(conn.Close)
		all := make([]*zk.Lock, workers)
		for w := range all {
			all[w] = zk.NewLock(conn, "/peer/"+key(w), zk.WorldACL(zk.PermAll))
		}
		return rate(workers, ours), rate(workers, func(_ context.Context, w int) (giveBack, error) {
			return func(context.Context) error { return all[w].Unlock() }, all[w].Lock()
		})
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

const (
	inFlight     = 1000
	messageBytes = 20 // about the size of a message of the lock
)

// member is what a process of a group is told: its rank, and the addresses of all of them.
type member struct {
	Rank             int
	Lock, Bare, Echo []string
	Spec             string // of the lock
}

// serve runs the lock and the bare mesh of one process.
func (m member) serve(ctx context.Context, handler mesh.Handler) (multiphase.Locker, *mesh.Mesh, error) {
	among := func(addrs []string) (c mesh.Config, err error) {
		c = mesh.Config{Self: mesh.Peer{ID: fmt.Sprint(m.Rank), Rank: m.Rank}, Cluster: "bench"}
		for rank, addr := range addrs {
			if rank != m.Rank {
				c.Peers = append(c.Peers, mesh.Peer{ID: fmt.Sprint(rank), Rank: rank, Addr: addr})
			}
		}
		c.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", addrs[m.Rank])
		return c, err
	}
	lock, err1 := among(m.Lock)
	bare, err2 := among(m.Bare)
	spec, err3 := locks.ParseSpec(m.Spec)
	options, err4 := multiphase.ParseOptions(spec)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	bare.Protocol, bare.Handler = "bare", handler
	l, err1 := multiphase.New(multiphase.Config{Options: options, Config: lock})
	floor, err2 := mesh.New(bare)
	return l, floor, errors.Join(err1, err2)
}

// group is n processes, this one included.
type group struct {
	lock   multiphase.Locker
	bare   *bareRounds
	mesh   *mesh.Mesh
	echoes []net.Conn      // one to each other process
	others []io.ReadWriter // their input and output
}

func startGroup(b testing.TB, n int, spec string) *group {
	b.Helper()
	g := &group{bare: &bareRounds{all: make(chan struct{}), peers: n - 1}}
	m := member{Spec: spec, Lock: freePorts(b, n), Bare: freePorts(b, n), Echo: freePorts(b, n)}
	for m.Rank = 1; m.Rank < n; m.Rank++ {
		g.others = append(g.others, startPeer(b, "multiphase", m))
	}
	m.Rank = 0
	var err error
	g.lock, g.mesh, err = m.serve(b.Context(), g.bare)
	locktest.Open(b, g.lock, err)
	b.Cleanup(func() { _ = g.mesh.Close() })
	must.Do(b, g.lock.Ready(locktest.Within(b)))
	<-g.bare.all
	for _, addr := range m.Echo[1:] {
		g.echoes = append(g.echoes, dial(b, addr))
	}
	return g
}

func dial(b testing.TB, addr string) net.Conn {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
	must.Do(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serveEcho answers each byte with itself.
func serveEcho(ctx context.Context, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	go func() {
		for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
			go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, conn) }() // without splice: a plain server
		}
	}()
	return ln, nil
}

// roundTrip is one message to an echo and back.
func roundTrip(conn net.Conn) error {
	buf := make([]byte, messageBytes)
	_, err1 := conn.Write(buf)
	_, err2 := io.ReadFull(conn, buf)
	return errors.Join(err1, err2)
}

// path times round trips to an echo in this process, through a link that delays them by so much; directly if that is nil.
func path(b testing.TB, delay *time.Duration) measurement {
	echo, err := serveEcho(b.Context(), "127.0.0.1:0")
	must.Do(b, err)
	b.Cleanup(func() { _ = echo.Close() })
	addr := echo.Addr().String()
	if delay != nil {
		config := link.DefaultConfig()
		config.Host = "bench"
		host, err := link.NewHost(config)
		must.Do(b, err)
		b.Cleanup(host.Close)
		addr, err = host.Open(link.Spec{Name: "echo", ToHost: "bench", ToNode: "echo", Upstream: addr, Up: link.Latency{Delay: *delay}})
		must.Do(b, err)
	}
	conn := dial(b, addr)
	return p50(func(context.Context, int) (giveBack, error) { return nothing, roundTrip(conn) })
}

// serveMultiphase is a process of a group. It takes the hot resource for as many
// nanoseconds as a line of its input says, and answers how often it did.
func serveMultiphase(ctx context.Context, config []byte) error {
	var m member
	if err := json.Unmarshal(config, &m); err != nil {
		return err
	}
	if _, err := serveEcho(ctx, m.Echo[m.Rank]); err != nil {
		return err
	}
	l, _, err := m.serve(ctx, answerAll{})
	for err == nil {
		var n int64
		var d time.Duration
		if _, end := fmt.Scanln((*int64)(&d)); end != nil { // the bench has ended
			break
		}
		n, err = takeHot(ctx, l, d)
		fmt.Println(n)
	}
	return err
}

// takeHot has workers of this process all take the same resource, over and over.
func takeHot(ctx context.Context, l locks.Locker, d time.Duration) (int64, error) {
	n, _, err := loop(ctx, d, 32, of(oneKey, l).pair)
	return n, err
}

// hotRate is how often per second the workers of all processes of the group take one
// resource. All processes have one processor, as the lab's masters do.
func (g *group) hotRate(ctx context.Context, d time.Duration) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	begin := clock.Mono()
	for _, p := range g.others {
		if _, err := fmt.Fprintln(p, int64(d)); err != nil {
			return 0, err
		}
	}
	total, err := takeHot(ctx, g.lock, d)
	for _, p := range g.others {
		var n int64
		_, failed := fmt.Fscanln(p, &n)
		total, err = total+n, errors.Join(err, failed)
	}
	return float64(total) / since(begin).Seconds(), err
}

// latency picks one of the medians, in microseconds, of Acquire and of a message's round
// trip over plain TCP. They take turns within one loop: whether a core sleeps deeply
// or not changes both several times over, and must not come between them. After each
// Release an echo with every peer, not timed, gives them time to take notice of it, for
// an uncontended acquisition does not overlap with the end of another. All processes
// have one processor, as the lab's masters do: with two, a goroutine that was just
// made ready is sometimes carried to the other core, which has to be woken first.
func (g *group) latency(pick func(acquire, echo float64) float64) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var echoes []float64
		took, err := p50(func(ctx context.Context, _ int) (giveBack, error) {
			lease, err := g.lock.Acquire(ctx, "bench/uncontended")
			return func(ctx context.Context) error {
				err := lease.Release(ctx)
				var begin int64
				for i := range len(g.echoes) + 1 {
					begin = clock.Mono()
					err = errors.Join(err, roundTrip(g.echoes[(len(echoes)+i)%len(g.echoes)]))
				}
				echoes = append(echoes, micros(since(begin)))
				return err
			}, err
		})(ctx, d)
		return pick(took, result.Median(echoes)), err
	}
}

// bareRate is a worker for each name with nothing but the mesh: it asks all peers and waits until
// they have answered.
func (g *group) bareRate(ctx context.Context, d time.Duration) (float64, error) {
	wake := make([]chan struct{}, inFlight)
	for w := range wake {
		wake[w] = make(chan struct{}, 1)
	}
	g.bare.begin(func(id uint32) { wake[id] <- struct{}{} })
	return rate(inFlight, func(ctx context.Context, w int) (giveBack, error) {
		g.bare.mu.Lock()
		g.bare.ask(uint32(w)) //nolint:gosec // not negative
		g.bare.mu.Unlock()
		g.mesh.FlushTogether()
		select {
		case <-wake[w]:
			return nothing, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})(ctx, d)
}

// bareEchoRate keeps as many requests in flight without any worker that waits: the
// handler asks again as soon as all have answered.
func (g *group) bareEchoRate(ctx context.Context, d time.Duration) (float64, error) {
	b, done, begin := g.bare, 0, clock.Mono()
	b.begin(func(id uint32) {
		done++
		b.ask(id)
	})
	b.mu.Lock()
	for id := range uint32(inFlight) {
		b.ask(id)
	}
	b.mu.Unlock()
	g.mesh.Flush()
	_ = clock.Sleep(ctx, d) // ctx is looked at below
	b.begin(nil)            // the rest is not counted, nor asked again
	return float64(done) / since(begin).Seconds(), ctx.Err()
}

// answerAll is the other side of the bare rounds: every request is granted.
type answerAll struct{}

func (answerAll) Connected(*mesh.Link)           {}
func (answerAll) Disconnected(*mesh.Link, error) {}

func (answerAll) Receive(link *mesh.Link, payload []byte) error {
	link.Send(payload)
	return nil
}

// bareRounds sends requests over nothing but the mesh. A lost connection leaves a measurement without grants.
type bareRounds struct {
	answerAll
	peers int
	all   chan struct{} // closed once all are connected

	mu      sync.Mutex
	links   []*mesh.Link
	payload [messageBytes]byte
	run     uint32          // tells answers to this measurement from those to an earlier one
	grants  []int           // of each request in flight
	granted func(id uint32) // all peers have answered
}

func (b *bareRounds) begin(granted func(id uint32)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run++
	b.grants, b.granted = make([]int, inFlight), granted
}

func (b *bareRounds) Connected(link *mesh.Link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links = append(b.links, link); len(b.links) == b.peers {
		close(b.all)
	}
}

func (b *bareRounds) Receive(_ *mesh.Link, payload []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if binary.BigEndian.Uint32(payload[4:]) == b.run {
		id := binary.BigEndian.Uint32(payload)
		if b.grants[id]++; b.grants[id] == b.peers {
			b.granted(id)
		}
	}
	return nil
}

func (b *bareRounds) ask(id uint32) {
	b.grants[id] = 0
	binary.BigEndian.PutUint32(b.payload[:], id)
	binary.BigEndian.PutUint32(b.payload[4:], b.run)
	for _, l := range b.links {
		l.Send(b.payload[:])
	}
}

// arrivals are those of the rows on the generator.
func arrivals() loadgen.Pacer { return loadgen.Poisson(10_000, 1) }

// generatorLateness is in microseconds: how much later than intended 99 % of the
// operations began, in a worker.
func generatorLateness(ctx context.Context, d time.Duration) (float64, error) {
	var mu sync.Mutex
	var late []time.Duration
	err := loadgen.Open(ctx, loadgen.Config{Duration: d}, arrivals(), func(_ context.Context, op loadgen.Op) {
		mu.Lock()
		defer mu.Unlock()
		late = append(late, time.Duration(op.SentNS-op.IntendedNS))
	})
	return p99(late), errors.Join(err, ctx.Err())
}

// bareLateness is the same of one thread that only sleeps, without the 50 us that the kernel may add: what this machine
// allows.
func bareLateness(ctx context.Context, d time.Duration) (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	refused := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }() // as it was
	var late []time.Duration
	began := clock.Mono()
	for at := range arrivals() {
		if at > d || ctx.Err() != nil {
			break
		}
		for left := at - since(began); left > 0; left = at - since(began) {
			ts := unix.NsecToTimespec(int64(left))
			_ = unix.Nanosleep(&ts, nil) // one that is interrupted goes on
		}
		late = append(late, since(began)-at)
	}
	return p99(late), errors.Join(refused, ctx.Err())
}

// p99 is in microseconds.
func p99(late []time.Duration) float64 {
	slices.Sort(late)
	return micros(late[len(late)*99/100])
}

// startChecker has the checker read half a million acquisitions and their releases: a run of 64 clients on two masters
// that compete for eight resources with a lock that works.
func startChecker(b testing.TB) (subject, peer measurement) {
	const holds = 500_000
	path := filepath.Join(b.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	must.Do(b, err)
	w.Record(history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Workload: "mutex", Lock: "multiphase", DurationNS: int64(time.Minute)}})
	w.Record(history.Event{Kind: history.KindPhase, State: history.PhaseMeasure})
	var at int64
	for n := range holds {
		node := "master-" + strconv.Itoa(n%2+1)
		at = int64(n/8+1) * int64(time.Millisecond)
		e := history.Event{
			Kind: history.KindAcquire, FromNS: at - 900_000, SentNS: at - 890_000, AtNS: at, Node: node,
			Client: node + "/c" + strconv.Itoa(n%64), Hold: "h-" + node + "-" + strconv.Itoa(n), Resource: "r" + strconv.Itoa(n%8),
			Outcome: "ok", Token: uint64(n/8 + 1), Messages: uint64(3 * n), //nolint:gosec // not negative
		}
		w.Record(e)
		e.Kind, e.FromNS, e.SentNS, e.AtNS = history.KindRelease, at+500_000, 0, at+600_000
		w.Record(e)
	}
	for _, state := range []string{history.PhaseDrain, history.PhaseEnd} {
		w.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: at + int64(time.Millisecond)})
	}
	must.Do(b, w.Close())
	return func(ctx context.Context, _ time.Duration) (float64, error) {
		began := clock.Mono()
		row, err := check.File(ctx, path)
		if n := row.Figures["requests"]; err == nil && (row.Verdict.Safety.State != result.OK || n < holds-8) { // asked for from the beginning on
			err = fmt.Errorf("check history: safety is %v of %.0f holds, want ok of %d", row.Verdict.Safety, n, holds)
		}
		return since(began).Seconds(), err
	}, nil
}
