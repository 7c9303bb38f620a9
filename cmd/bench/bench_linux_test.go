package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"locklab/chaos/link"
	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/etcdlock"
	"locklab/locks/etcdlock/etcdtest"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/pglock"
	"locklab/locks/raftlock"
	"locklab/locks/redis"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
	"locklab/locks/zklock"
	"locklab/locks/zklock/zktest"
	"locklab/nodes/agent"
	"locklab/nodes/agent/agenttest"
	"locklab/nodes/diskfault"
	"locklab/nodes/postgresnode"
	"locklab/nodes/process"
	"locklab/nodes/raftnode"
	"locklab/nodes/redisnode"
	"locklab/nodes/role"
	"locklab/reports/compare/stats"
	"locklab/workloads/capacity"
	"locklab/workloads/check"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

const patience = 4 // times as many rounds has a row whose first ones leave open whether it reaches its figure

var (
	rounds  = flag.Int("rounds", 6, "counted rounds per row, after one that warms up; more of a row that is open")
	each    = flag.Duration("each", time.Second, "how long one measurement takes")
	pattern = flag.String("rows", "", "regular expression: only rows whose name matches")
	strict  = flag.Bool("check", false, "fail if a figure to reach is surely missed")
)

// row is a line of the table: a ratio of two sides measured in turn, which holds although the machine's speed drifts.
type row struct {
	name  string // the subject / its peer
	n     int    // what start wants to know of the row
	reach float64
	unit  string // of the two figures
	start starter
}

// at are numbers of workers or processes, each with its figure to reach: of times at most, of rates at least; 0: the
// ratio is only reported.
type at [][2]float64

// starter makes a row's two sides ready, the subject and its peer.
type starter func(b testing.TB, n int) sides

type sides [2]measurement

// measurement runs once for about the given time and returns its figure.
type measurement func(ctx context.Context, d time.Duration) (float64, error)

// one is the peer of a figure that stands for itself.
func one(context.Context, time.Duration) (float64, error) { return 1, nil }

func rows() (all []row) {
	add := func(reach at, unit string, start starter, name string) {
		for _, at := range reach {
			all = append(all, row{strings.ReplaceAll(name, "%d", fmt.Sprint(at[0])), int(at[0]), at[1], unit, start})
		}
	}

	// redlock against redsync and the floor, and the lock on one instance against its bare commands, on five
	// redis-server processes in memory on the loopback.
	add(at{{1, 1.4}, {16, 3.5}, {64, 6}}, "ops/s", func(b testing.TB, n int) sides {
		s := startRedis(b)
		return sides{rate(n, of(ownKey, s.redlock("redlock"))), rate(n, s.redsync(n, ownKey))}
	}, "redlock acquire+release / redsync, a key each, %d goroutines of one process over shared pipelines")
	add(at{{1, 1.3}}, "us", func(b testing.TB, _ int) sides {
		s := startRedis(b)
		return sides{p50(of(oneKey, s.redlock("redlock"))), p50(s.parallelSets)}
	}, "redlock acquire p50 / 5 parallel SETs p50, 1 worker")
	// The clients know nothing of each other, as processes do. The users of redsync share a pool of connections, as
	// goroutines of one process do; it makes them no slower.
	add(at{{16, 1}}, "/s", func(b testing.TB, n int) sides {
		s := startRedis(b)
		return sides{changes(n, of(oneKey, many(n, s.redlock, "redlock:delay=1ms")...)), changes(n, s.redsync(n, oneKey))}
	}, "redlock:delay=1ms (textbook), one key, %d clients of 1 worker: owner changes / redsync, both with 1 ms delay, "+
		"drawn from 0.5 to 1.5 ms")
	add(at{{1, 0.9}, {16, 1.5}, {64, 2}}, "ops/s", func(b testing.TB, n int) sides {
		s := startRedis(b)
		return sides{rate(n, of(ownKey, s.redis("redis"))), rate(n, s.bare)}
	}, "redis acquire+release / SET NX PX and compare-and-delete by go-redis, a key each, %d goroutines")
	// With two clients one waits, and the ratio is that of a message to a pause: the figure to reach is for that.
	pubsub := func(b testing.TB, n int) sides {
		s := startRedis(b)
		told, polls := many(n, s.redis, "redis:pubsub"), many(n, s.redis, "redis:delay=50ms")
		return sides{changes(n, of(oneKey, told...)), changes(n, of(oneKey, polls...))}
	}
	const polling = "redis:pubsub, one key, %d clients of 1 worker: owner changes / redis polling every 50 ms; "
	add(at{{2, 20}}, "/s", pubsub, polling+"1 waits: a message against a pause")
	add(at{{16, 0}}, "/s", pubsub,
		polling+"15 wait: one of these polls every 3 ms, and a message wakes them all for one grant")

	// Locks on PostgreSQL against the statements that such a lock cannot do without, the locks etcd and zookeeper against
	// those of the libraries, and raft against etcd's: servers on this machine's disk with fsync, without any link
	// between them. etcd's client spreads its requests over the members, as it does by default.
	add(at{{16, 0.85}}, "ops/s", againstStatements("postgres:lease",
		"UPDATE bench_locks SET owner = 'bench', fence = fence + 1, expires = now() + interval '3 s' "+
			"WHERE resource = $1 AND expires < now() RETURNING fence",
		"UPDATE bench_locks SET expires = '-infinity', owner = NULL WHERE resource = $1 RETURNING fence",
	), "postgres:lease acquire+release / its bare statements by pgx, a key each, %d goroutines")
	add(at{{16, 0.85}}, "ops/s", againstStatements("postgres:advisory",
		"WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 1))) "+
			"SELECT nextval('bench_fence') FROM locked",
		"SELECT pg_advisory_unlock(hashtextextended($1, 1))::int::bigint",
	), "postgres:advisory acquire+release / its bare statements by pgx, a key each, %d goroutines; with a token")
	const etcd = "etcd lock+unlock / concurrency.Mutex, %d workers with leases of a minute, "
	add(at{{16, 1}}, "ops/s", etcdAgainstMutex(ownKey), etcd+"distinct keys, a client each")
	add(at{{16, 1}}, "ops/s", etcdAgainstMutex(oneKey),
		etcd+"one key, a client each; etcd's Mutex hands over on a 100 ms timer")
	const library = "zookeeper acquire+release / the library's zk.Lock, "
	add(at{{1, 1}, {16, 1}, {64, 1}}, "ops/s", zookeeperAgainst(ownKey, false), library+"distinct keys, %d workers")
	add(at{{16, 1}}, "ops/s", zookeeperAgainst(oneKey, false), library+"one key, %d workers")
	add(at{{16, 0}, {64, 0}}, "ops/s", zookeeperAgainst(oneKey, true),
		"zookeeper acquire+release / zookeeper:watch=all (the herd), one key, %d workers")
	add(at{{1, 1.3}, {16, 2}, {64, 3}}, "ops/s", raftAgainst(ownKey, etcdMutexes),
		"raft lock+unlock / etcd Mutex, distinct keys, %d workers")
	add(at{{16, 10}}, "ops/s", raftAgainst(oneKey, etcdMutexes),
		"raft lock+unlock / etcd Mutex, one key, %d workers; etcd's Mutex hands over on a 100 ms timer")
	add(at{{16, 1}}, "ops/s", raftAgainst(oneKey, etcdQueue),
		"raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, %d workers")

	// One peer, in this process, against n-1 others, each in a process of its own. All of them also serve the two floors:
	// an echo over plain TCP, and the mesh with no locking logic on it.
	add(at{{2, 2}, {3, 4}, {6, 15}}, "us", func(b testing.TB, n int) sides {
		g := startGroup(b, n, "multiphase")
		return sides{g.latency(0), g.latency(1)}
	}, "multiphase acquire p50 / round trip of one message, %d processes")
	const names = "multiphase, 1,000 names in flight / bare "
	// It was 0.5 of a floor that was 1.4 times slower.
	add(at{{3, 0.35}}, "ops/s", func(b testing.TB, n int) sides {
		g := startGroup(b, n, "multiphase")
		return sides{rate(inFlight, of(ownKey, g.lock)), g.bare.rate(true)}
	}, names+"request-grant rounds, %d processes")
	add(at{{3, 0}}, "ops/s", func(b testing.TB, n int) sides {
		g := startGroup(b, n, "multiphase")
		return sides{rate(inFlight, of(ownKey, g.lock)), g.bare.rate(false)}
	}, names+"rounds nobody waits for, %d processes")
	// The headline has two masters; three show the cost of a further one.
	add(at{{2, 10}, {3, 0}}, "ops/s", func(b testing.TB, n int) sides {
		g, s := startGroup(b, n, "multiphase"), startRedis(b)
		return sides{rate(64, of(ownKey, g.lock)), rate(64, of(ownKey, s.redlock("redlock")))}
	}, "multiphase acquire+release, %d processes / redlock, a name each, 64 workers")
	// One acquisition among the peers serves the waiters of a process in turn, or each makes its own.
	add(at{{2, 3}}, "ops/s", func(b testing.TB, n int) sides {
		return sides{startGroup(b, n, "multiphase:cohort").hotRate, startGroup(b, n, "multiphase").hotRate}
	}, "multiphase:cohort / multiphase, one resource, 64 workers of %d processes")

	// What the links add to what is measured through them, how late the generator is, and how fast the checker.
	add(at{{1, 4}}, "us", func(b testing.TB, _ int) sides { return sides{path(b, 0), path(b, -1)} },
		"link: round trip through a link p50 / direct p50")
	add(at{{1, 150}}, "us", func(testing.TB, int) sides { return sides{generatorLateness, one} },
		"generator: lateness p99 at 10,000 operations/s")
	add(at{{1, 2}}, "us", func(testing.TB, int) sides { return sides{generatorLateness, bareLateness} },
		"generator: lateness p99 / that of a bare loop that sleeps until the same moments")
	add(at{{1, 1}}, "s", startChecker, "checker: read and check a history of a million events")
	add(at{{8, 1. / 3}}, "ops/s", func(b testing.TB, n int) sides {
		return sides{rate(n, syncedSets(b, diskfault.Power)), rate(n, syncedSets(b, ""))}
	}, "power-loss: SETs of a Redis that syncs each, watched / not watched, %d connections")
	for _, delay := range []time.Duration{time.Millisecond, 300 * time.Microsecond} {
		add(at{{1, 100}}, "us", func(b testing.TB, _ int) sides {
			plain, delayed := path(b, 0), path(b, delay)
			return sides{func(ctx context.Context, d time.Duration) (float64, error) {
				without, err1 := plain(ctx, d/2) // what a link costs without a delay is taken off
				with, err2 := delayed(ctx, d/2)
				wrong := with - without - micros(delay)
				return max(wrong, -wrong), errors.Join(err1, err2)
			}, one}
		}, fmt.Sprintf("link: error of an injected delay of %v, p50", delay))
	}
	return all
}

// TestMain makes this program a node's process where an agent has started it as one.
func TestMain(m *testing.M) {
	if !agenttest.Node(raftnode.Role(), postgresnode.Role(), redisnode.Role(), peers) {
		m.Run() // and the return ends the process with what came of it
	}
}

func BenchmarkRows(b *testing.B) {
	match, err := regexp.Compile(*pattern)
	if err != nil || *rounds < 1 || *each <= 0 {
		b.Fatalf("-rows wants a regular expression, -rounds and -each more than 0: %v", err)
	}
	fmt.Printf("ratios are medians of %d interleaved rounds of %v, of %d if these leave the figure to reach open, "+
		"[interval of the median, at 95 %% from 6 rounds on]; open: so do all\n", *rounds, *each, patience**rounds)
	for _, r := range rows() {
		if match.MatchString(r.name) {
			b.Run(r.name, r.measure)
		}
	}
}

// measure runs subject and peer in turn, changing the order, and prints the row's line.
func (r row) measure(b *testing.B) {
	sides := r.start(b, r.n)
	var subject, peer, ratios []float64
	var low, high float64
	open := func() bool { return low < r.reach && r.reach < high }
	for i := 0; i <= *rounds || i <= patience**rounds && open(); i++ { // the first round warms up and is not counted
		if now := sides.measure(b, i%2, *each); i > 0 {
			subject, peer, ratios = append(subject, now[0]), append(peer, now[1]), append(ratios, now[0]/now[1])
			low, high, _ = stats.Interval(ratios)
		}
	}
	target, missed := fmt.Sprintf(">= %.4g", r.reach), high < r.reach
	if r.unit == "us" || r.unit == "s" {
		target, missed = fmt.Sprintf("<= %.4g", r.reach), low > r.reach
	}
	mark := map[bool]string{false: "reached", true: "MISSED"}[missed]
	if r.reach == 0 {
		target, mark, missed = "reported", "", false
	} else if open() {
		mark = "open"
	}
	ratio := result.Median(ratios)
	fmt.Printf("%-72s %8.3g  [%.3g .. %.3g] of %d  %-9s %-8s %.4g / %.4g %s\n", r.name, ratio, low, high, len(ratios),
		target, mark, result.Median(subject), result.Median(peer), r.unit)
	b.ReportMetric(0, "ns/op") // which would be those of all rounds together
	b.ReportMetric(ratio, "ratio")
	if missed && *strict {
		b.Errorf("%s: %.3g, want %s", r.name, ratio, target)
	}
}

// measure runs both sides, beginning with the first.
func (s sides) measure(tb testing.TB, first int, d time.Duration) (figures [2]float64) {
	for _, side := range []int{first, 1 - first} {
		var err error
		if figures[side], err = s[side](tb.Context(), d); err != nil || figures[side] <= 0 {
			tb.Fatalf("side %d: %v, %v", side, figures[side], err)
		}
	}
	return figures
}

// TestRowsCanBeMeasured measures a row of each kind, for a moment.
func TestRowsCanBeMeasured(t *testing.T) {
	kinds := regexp.MustCompile(`^(redlock acquire.* 16|redis:pubsub.* 2 clients|postgres:lease|etcd .*distinct|` +
		`zookeeper .*herd.* 16|raft .*our own|multiphase acquire p50.* 3|multiphase, 1,000|multiphase:cohort|link:|` +
		`generator: lateness p99 /)`)
	for _, r := range rows() {
		if kinds.MatchString(r.name) {
			t.Run(r.name, func(t *testing.T) { r.start(t, r.n).measure(t, 0, 100*time.Millisecond) })
		}
	}
}

// taker has a worker take a lock, and says how it gives it back.
type taker func(ctx context.Context, worker int) (giveBack, error)

type giveBack = func(context.Context) error

// nothing gives back a taker that is no lock.
func nothing(context.Context) error { return nil }

// of has each worker take its key of a client, which are used in turn.
func of(key func(worker int) string, clients ...locks.Locker) taker {
	return func(ctx context.Context, w int) (giveBack, error) {
		lease, err := clients[w%len(clients)].Acquire(ctx, key(w))
		return func(ctx context.Context) error { return lease.Release(ctx) }, err
	}
}

func many(n int, client func(spec string) locks.Locker, spec string) (all []locks.Locker) {
	for range n {
		all = append(all, client(spec))
	}
	return all
}

// rate is how often per second workers together take something and give it back.
func rate(workers int, take taker) measurement {
	return counted(workers, take, func(int) bool { return true })
}

// changes is how often per second the holder changes while workers pass through a lock.
func changes(workers int, take taker) measurement {
	var last atomic.Int64
	return counted(workers, take, func(w int) bool { return last.Swap(int64(w)) != int64(w) })
}

// counted is how often per second workers take what counts. All that they take they give back.
func counted(workers int, take taker, counts func(worker int) bool) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		ctx, fail := context.WithCancelCause(ctx)
		defer fail(nil)
		var all atomic.Int64
		begin := clock.Mono()
		loadgen.Closed(ctx, d, workers, func(ctx context.Context, w int, _ loadgen.Op) {
			release, err := take(ctx, w)
			if err == nil {
				if counts(w) {
					all.Add(1)
				}
				err = release(ctx)
			}
			if err != nil {
				fail(err)
			}
		})
		return float64(all.Load()) / since(begin).Seconds(), context.Cause(ctx)
	}
}

// p50 is the median, in microseconds, of how long it takes to take something; to give it back is not timed.
func p50(take taker) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var all []float64
		_, err := rate(1, func(ctx context.Context, w int) (giveBack, error) {
			begin := clock.Mono()
			release, err := take(ctx, w)
			all = append(all, micros(since(begin)))
			return release, err
		})(ctx, d)
		return result.Median(all), err
	}
}

func micros(d time.Duration) float64  { return float64(d) / float64(time.Microsecond) }
func since(begin int64) time.Duration { return time.Duration(clock.Mono() - begin) }

// ownKey, a key for each worker, and oneKey, the same for all, are names of what is locked.
func ownKey(worker int) string { return fmt.Sprint("key-", worker) }
func oneKey(int) string        { return "key" }

// redisServers are five servers and the clients that are measured on them.
type redisServers struct {
	b       testing.TB
	addrs   []string
	clients []*goredis.Client // go-redis as it is by default, for the peers
}

func startRedis(b testing.TB) *redisServers {
	s := &redisServers{b: b}
	for _, server := range redistest.Start(b, 5) {
		client := server.Client()
		b.Cleanup(func() { _ = client.Close() }) // its end cannot change a figure any more
		s.addrs, s.clients = append(s.addrs, server.Addr()), append(s.clients, client)
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
	var pools []redsyncredis.Pool
	for _, c := range s.clients {
		pools = append(pools, pool.NewPool(c))
	}
	pause := func(int) time.Duration { return time.Millisecond/2 + rand.N(time.Millisecond) }
	patient := []redsync.Option{redsync.WithTries(1 << 30), redsync.WithRetryDelayFunc(pause)}
	mutexes := make([]*redsync.Mutex, workers)
	for w := range mutexes {
		mutexes[w] = redsync.New(pools...).NewMutex("redsync-"+key(w), patient...)
	}
	return func(ctx context.Context, w int) (giveBack, error) {
		unlock := func(ctx context.Context) error { _, err := mutexes[w].UnlockContext(ctx); return err }
		return unlock, mutexes[w].LockContext(ctx)
	}
}

// parallelSets is the floor: the round trips of an acquisition and nothing else.
func (s *redisServers) parallelSets(ctx context.Context, _ int) (giveBack, error) {
	var sets errgroup.Group
	for _, c := range s.clients {
		sets.Go(func() error { return c.Set(ctx, "bench-floor", bareValue, 3*time.Second).Err() })
	}
	return nothing, sets.Wait()
}

const bareValue = "0123456789abcdef0123456789abcdef"

var bareRelease = goredis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`)

// bare is the two commands of the lock and nothing else, over go-redis's own pool.
func (s *redisServers) bare(ctx context.Context, w int) (giveBack, error) {
	key, c := fmt.Sprintf("bare-%d", w), s.clients[0]
	return func(ctx context.Context) error { return bareRelease.Run(ctx, c, []string{key}, bareValue).Err() },
		c.SetNX(ctx, key, bareValue, 3*time.Second).Err()
}

// syncedSets are those of a server whose calls the agent may watch, as for a cut of its power.
func syncedSets(b testing.TB, watched diskfault.Calls) taker {
	_, addrs := agenttest.Start(b, redisnode.Role(), 1,
		agent.NodeSpec{Settings: []byte(`{"persistence":"always"}`), Disk: watched}, nil)
	client := goredis.NewClient(&goredis.Options{Addr: addrs[0][redisnode.Port]})
	b.Cleanup(func() { _ = client.Close() })
	return func(ctx context.Context, worker int) (giveBack, error) {
		return nothing, client.Set(ctx, ownKey(worker), "held", 0).Err()
	}
}

// againstStatements has the lock run against two statements that return a number, by pgx from a pool of the same size,
// on a table of the locks' form with a row for each worker.
func againstStatements(lock, take, give string) starter {
	return func(b testing.TB, n int) sides { // with as many connections of each side
		_, addrs := agenttest.Start(b, postgresnode.Role(), 1, agent.NodeSpec{}, nil)
		url := postgresnode.URL(addrs[0][postgresnode.Port])
		pool, err := pgxpool.New(b.Context(), fmt.Sprintf("%s&pool_max_conns=%d", url, n))
		must.Do(b, err)
		b.Cleanup(pool.Close)
		options := locktest.Options(b, pglock.ParseOptions, fmt.Sprintf("%s,conns=%d", lock, n))
		l, err := pglock.New(pglock.Config{URL: url, Options: options})
		locktest.Open(b, l, err)
		_, err = pool.Exec(b.Context(), fmt.Sprintf(`CREATE SEQUENCE bench_fence;
CREATE TABLE bench_locks (resource text PRIMARY KEY, owner text, fence bigint NOT NULL DEFAULT 0,
	expires timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50);
INSERT INTO bench_locks (resource) SELECT 'key-' || n FROM generate_series(0, %d) AS n`, n-1))
		must.Do(b, err)
		return sides{rate(n, of(ownKey, l)), rate(n, func(ctx context.Context, w int) (giveBack, error) {
			conn, err := pool.Acquire(ctx) // both on one, which an advisory lock belongs to
			if err != nil {
				return nil, err
			}
			var number int64
			return func(ctx context.Context) error {
				defer conn.Release()
				return conn.QueryRow(ctx, give, ownKey(w)).Scan(&number)
			}, conn.QueryRow(ctx, take, ownKey(w)).Scan(&number)
		})}
	}
}

// etcdAgainstMutex has a client for each worker: the callers of one client of the lock queue in it, and would hand over
// without etcd. 16 Mutexes of one client would share its connections, and have etcd answer several at once.
func etcdAgainstMutex(key func(worker int) string) starter {
	return func(b testing.TB, n int) sides {
		c := etcdtest.Start(b, 3)
		options := locktest.Options(b, etcdlock.ParseOptions, "etcd:ttl=1m") // as the Mutex's: 3 s would renew more often
		var ours []locks.Locker
		var theirs []*clientv3.Client
		for range n {
			l, err := etcdlock.New(etcdlock.Config{Addrs: c.Addrs, Options: options})
			ours, theirs = append(ours, locktest.Open(b, l, err)), append(theirs, etcdtest.Dial(b, c.Addrs))
		}
		return sides{rate(n, of(key, ours...)), rate(n, etcdMutexes(b, n, key, theirs...))}
	}
}

// etcdMutexes are etcd's own, with a session of a minute for each worker. The clients are used in turn.
func etcdMutexes(b testing.TB, workers int, key func(int) string, clients ...*clientv3.Client) taker {
	mutexes := make([]*concurrency.Mutex, workers)
	for i := range mutexes {
		session, err := concurrency.NewSession(clients[i%len(clients)], concurrency.WithTTL(60))
		must.Do(b, err)
		b.Cleanup(session.Orphan)
		mutexes[i] = concurrency.NewMutex(session, key(i))
	}
	return func(ctx context.Context, w int) (giveBack, error) { return mutexes[w].Unlock, mutexes[w].Lock(ctx) }
}

// etcdQueue is a mutex on etcd's leases and watches. As in etcd's own, each waiter has a key with a lease, and the
// oldest key holds. That one opens a watch from a past revision for every wait, which etcd serves on a timer of 100 ms;
// this one has a single watch, open all the time, whose events etcd sends at once.
func etcdQueue(b testing.TB, workers int, key func(int) string, clients ...*clientv3.Client) taker {
	c := clients[0]
	lease, err := c.Grant(b.Context(), 600) // longer than any row takes
	must.Do(b, err)
	events := c.Watch(b.Context(), key(0)+"/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	created := <-events
	must.Do(b, created.Err())
	name := func(w int) string { return fmt.Sprintf("%s/%d", key(0), w) }
	granted, ended := map[string]chan struct{}{}, make(chan struct{})
	for w := range workers {
		granted[name(w)] = make(chan struct{}, 1)
	}
	go func() {
		defer close(ended)
		var order []string // keys that exist, the oldest first, as far as the watch has told
		for response := range events {
			for _, e := range response.Events { // in the order of their revisions
				released := e.Type == clientv3.EventTypeDelete
				if released { // by its holder, whose key is the oldest
					order = order[1:]
				} else {
					order = append(order, string(e.Kv.Key))
				}
				if len(order) == 1 || released && len(order) > 1 {
					granted[order[0]] <- struct{}{}
				}
			}
		}
	}()
	return func(ctx context.Context, w int) (giveBack, error) {
		if _, err := c.Put(ctx, name(w), "", clientv3.WithLease(lease.ID)); err != nil {
			return nil, err
		}
		select {
		case <-granted[name(w)]:
			return func(ctx context.Context) error { _, err := c.Delete(ctx, name(w)); return err }, nil
		case <-ended:
			return nil, errors.New("etcd queue: the watch ended")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// onEtcd is what workers take there.
type onEtcd func(b testing.TB, workers int, key func(int) string, clients ...*clientv3.Client) taker

// raftAgainst has one client process, and three of servers.
func raftAgainst(key func(int) string, theirs onEtcd) starter {
	return func(b testing.TB, n int) sides {
		name := func(i int) string { return agenttest.Name(raftnode.Name, i) }
		_, all := agenttest.Start(b, raftnode.Role(), 3, agent.NodeSpec{}, func(i int, all []map[string]string) any {
			var s raftnode.Settings
			for j, addrs := range all {
				s.Peers = append(s.Peers, raftnode.Peer{Name: name(j), Addr: addrs[raftnode.PortRaft]})
			}
			s.Peers = slices.Delete(s.Peers, i, i+1)
			return s
		})
		var servers []raftlock.Server
		for i, addrs := range all {
			servers = append(servers, raftlock.Server{Name: name(i), Addr: addrs[raftnode.PortClient]})
		}
		l, err := raftlock.New(raftlock.Config{Servers: servers, Client: "bench"})
		locktest.Release(b, locktest.Acquire(b, locktest.Open(b, l, err), "ready")) // waits for a leader
		return sides{rate(n, of(key, l)), rate(n, theirs(b, n, key, etcdtest.Start(b, 3).Client))}
	}
}

// zookeeperAgainst has one session for all workers of each side. The library's lock is the same recipe. The leader
// answers faster than the others, which must ask it: all clients dial the same server.
func zookeeperAgainst(key func(int) string, herd bool) starter {
	return func(b testing.TB, n int) sides {
		addrs := zktest.Start(b, 3).Addrs[:1]
		lock := func(spec string) locks.Locker {
			options := locktest.Options(b, zklock.ParseOptions, spec)
			return locktest.Open(b, zklock.New(zklock.Config{Addrs: addrs, Options: options}), nil)
		}
		ours := rate(n, of(key, lock("zookeeper:session=1m")))
		if herd {
			return sides{ours, rate(n, of(func(int) string { return "herd" }, lock("zookeeper:session=1m,watch=all")))}
		}
		conn, all := zktest.Connect(b, addrs), make([]*zk.Lock, n)
		for w := range all {
			all[w] = zk.NewLock(conn, "/peer/"+key(w), zk.WorldACL(zk.PermAll))
		}
		return sides{ours, rate(n, func(_ context.Context, w int) (giveBack, error) {
			return func(context.Context) error { return all[w].Unlock() }, all[w].Lock()
		})}
	}
}

const inFlight, messageBytes = 1000, 20 // the size is about that of a message of the lock

// member is a process of a group: this one with rank 0, which dials all others, or a node of its agent.
type member struct {
	Rank    int
	Options multiphase.Options
	Others  []map[string]string // the addresses of the ranks from 1 on
}

// serve runs the lock and the bare mesh of one process.
func (m member) serve() (l multiphase.Locker, bare *bareMesh, err error) {
	among := func(port string) (c mesh.Config, err error) {
		c.Self = mesh.Peer{ID: fmt.Sprint(m.Rank), Rank: m.Rank}
		for rank, addrs := range append([]map[string]string{nil}, m.Others...) {
			if rank != m.Rank {
				c.Peers = append(c.Peers, mesh.Peer{ID: fmt.Sprint(rank), Rank: rank, Addr: addrs[port]})
			} else if rank > 0 {
				c.Listener, err = net.Listen("tcp", addrs[port])
			}
		}
		return c, err
	}
	lock, err1 := among("lock")
	only, err2 := among("bare")
	bare = &bareMesh{connected: make(chan *mesh.Link, mesh.MaxRank)}
	only.Handler = bare
	l, err3 := multiphase.New(multiphase.Config{Options: m.Options, Config: lock})
	bare.Mesh, err = mesh.New(only)
	return l, bare, errors.Join(err1, err2, err3, err)
}

// peers is a process of a group, with one processor as all the lab's nodes have.
var peers = role.Role{Name: "peer", Ports: []string{"lock", "bare", "echo", "api"}, Env: process.Environment, Main: run}

func run(ctx context.Context, node *process.Node) error {
	var m member
	err1 := node.Decode(&m)
	l, _, err2 := m.serve()
	echo, err3 := net.Listen("tcp", node.Addrs["echo"])
	api, err4 := net.Listen("tcp", node.Addrs["api"])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	go serveEcho(echo) // ends with the process
	go func() { _ = http.Serve(api, capacity.Handler(node.Name, "", l)) }()
	node.Ready()
	<-ctx.Done()
	return nil
}

// serveEcho answers each byte with itself.
func serveEcho(on net.Listener) {
	for conn, err := on.Accept(); err == nil; conn, err = on.Accept() {
		go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, conn) }() // without splice: a plain server
	}
}

// group is n processes, this one included.
type group struct {
	lock    multiphase.Locker
	bare    *bareMesh
	echoes  []net.Conn // one to each other process
	masters []loadgen.Master
}

func startGroup(b testing.TB, n int, spec string) *group {
	options := locktest.Options(b, multiphase.ParseOptions, spec)
	_, others := agenttest.Start(b, peers, n-1, agent.NodeSpec{}, func(i int, others []map[string]string) any {
		return member{i + 1, options, others}
	})
	lock, bare, err := member{0, options, others}.serve()
	locktest.Open(b, lock, err)
	b.Cleanup(func() { _ = bare.Close() })
	must.Do(b, lock.Ready(locktest.Within(b)))
	self := httptest.NewServer(capacity.Handler("self", "", lock))
	b.Cleanup(self.Close)
	g := &group{lock: lock, bare: bare, masters: []loadgen.Master{{Name: "self", URL: self.URL}}}
	for _, addrs := range others {
		conn, err := net.Dial("tcp", addrs["echo"])
		must.Do(b, err)
		b.Cleanup(func() { _ = conn.Close() })
		g.echoes, bare.links = append(g.echoes, conn), append(bare.links, <-bare.connected)
		g.masters = append(g.masters, loadgen.Master{Name: "peer", URL: "http://" + addrs["api"]})
	}
	return g
}

// roundTrip is one message to an echo and back.
func roundTrip(conn net.Conn) error {
	buf := make([]byte, messageBytes)
	_, err1 := conn.Write(buf)
	_, err2 := io.ReadFull(conn, buf)
	return errors.Join(err1, err2)
}

// path times round trips to an echo in this process, through a link with this delay; directly if that is negative.
func path(b testing.TB, delay time.Duration) measurement {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(b, err)
	b.Cleanup(func() { _ = echo.Close() })
	go serveEcho(echo)
	addr := echo.Addr().String()
	if delay >= 0 {
		config := link.DefaultConfig()
		config.Host = "bench"
		host, err := link.NewHost(config)
		must.Do(b, err)
		b.Cleanup(host.Close)
		spec := link.Spec{Name: "echo", ToHost: "bench", ToNode: "echo", Upstream: addr, Up: link.Latency{Delay: delay}}
		addr, err = host.Open(spec)
		must.Do(b, err)
	}
	conn, err := net.Dial("tcp", addr)
	must.Do(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return p50(func(context.Context, int) (giveBack, error) { return nothing, roundTrip(conn) })
}

// hotRate is how often per second the workers of all processes of the group take one resource. All processes have one
// processor, as the lab's masters do.
func (g *group) hotRate(ctx context.Context, d time.Duration) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e, err := capacity.Measure(ctx, g.masters, capacity.Load{Clients: 32, One: true, Duration: d})
	return float64(e.Count) / d.Seconds(), err
}

// latency is one of two medians, in microseconds: that of Acquire, and that of a message's round trip over plain TCP.
// They take turns: whether a core sleeps deeply changes both several times over. After each Release an echo with every
// peer, not timed, gives them time to notice it. All processes have one processor, as the lab's masters do: with two, a
// goroutine that was just made ready is sometimes carried to the other core, which has to be woken first.
func (g *group) latency(which int) measurement {
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
		return []float64{took, result.Median(echoes)}[which], err
	}
}

// bareMesh carries requests, which other processes grant, with no locking logic.
type bareMesh struct {
	*mesh.Mesh
	connected chan *mesh.Link
	links     []*mesh.Link // to all peers

	granted atomic.Pointer[func(id int)] // told once all peers have answered; nil in a process that only grants
	answers [inFlight]atomic.Int64       // to each request in flight, and those before it
}

func (m *bareMesh) Connected(link *mesh.Link)      { m.connected <- link }
func (m *bareMesh) Disconnected(*mesh.Link, error) {}

func (m *bareMesh) Receive(link *mesh.Link, payload []byte) error {
	if granted := m.granted.Load(); granted == nil {
		link.Send(payload)
	} else if id := int(payload[0])<<8 | int(payload[1]); m.answers[id].Add(1)%int64(len(m.links)) == 0 {
		(*granted)(id)
	}
	return nil
}

func (m *bareMesh) ask(id int) {
	payload := [messageBytes]byte{byte(id >> 8), byte(id)}
	for _, l := range m.links {
		l.Send(payload[:])
	}
}

// rate is that of requests in flight, each of which is asked again when all peers have answered: by a worker of its
// own, which has waited for that, or by the handler.
func (m *bareMesh) rate(waits bool) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		ask := m.ask
		if waits {
			var answered [inFlight]chan struct{}
			for id := range answered {
				answered[id] = make(chan struct{}, 1)
				defer close(answered[id])
				go func() {
					for range answered[id] {
						m.ask(id)
						m.FlushTogether()
					}
				}()
			}
			ask = func(id int) { answered[id] <- struct{}{} }
		}
		var done atomic.Int64
		var ending sync.WaitGroup
		ending.Add(inFlight)
		begin := clock.Mono()
		granted := func(id int) {
			if since(begin) > d {
				ending.Done()
				return
			}
			done.Add(1)
			ask(id)
		}
		m.granted.Store(&granted)
		for id := range inFlight {
			ask(id)
		}
		m.Flush()
		ending.Wait()
		return float64(done.Load()) / d.Seconds(), ctx.Err()
	}
}

var arrivals = loadgen.Poisson(10_000, 1) // of the rows on the generator

// generatorLateness is in microseconds: how much later than intended 99 % of the operations began, in a worker.
func generatorLateness(ctx context.Context, d time.Duration) (float64, error) {
	var mu sync.Mutex
	var late []time.Duration
	err := loadgen.Open(ctx, loadgen.Config{Duration: d}, arrivals, func(_ context.Context, op loadgen.Op) {
		mu.Lock()
		defer mu.Unlock()
		late = append(late, time.Duration(op.SentNS-op.IntendedNS))
	})
	return p99(late), errors.Join(err, ctx.Err())
}

// bareLateness is that of a thread that only sleeps, without the 50 us that the kernel may add.
func bareLateness(ctx context.Context, d time.Duration) (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	refused := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }() // as it was
	var late []time.Duration
	began := clock.Mono()
	for at := range arrivals {
		if at > d || ctx.Err() != nil {
			break
		}
		due := unix.NsecToTimespec(began + int64(at))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &due, nil) == unix.EINTR {
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

// startChecker has the checker read a run of 64 clients on two masters that compete for eight resources, safely.
func startChecker(b testing.TB, _ int) sides {
	const holds = 500_000
	path := b.TempDir() + "/history.jsonl"
	w, err := history.Create(path)
	must.Do(b, err)
	run := &history.Run{Schema: history.Schema, Workload: "mutex", Lock: "multiphase", DurationNS: int64(time.Minute)}
	w.Record(history.Event{Kind: history.KindRun, Run: run})
	w.Record(history.Event{Kind: history.KindPhase, State: history.PhaseMeasure})
	var at int64
	for n := range holds {
		node := fmt.Sprint("master-", n%2+1)
		at = int64(n/8+1) * int64(time.Millisecond)
		e := history.Event{
			Kind: history.KindAcquire, FromNS: at - 900_000, SentNS: at - 890_000, AtNS: at, Outcome: "ok", Node: node,
			Client: fmt.Sprint(node, "/c", n%64), Hold: fmt.Sprint("h-", node, "-", n), Resource: fmt.Sprint("r", n%8),
			Token: uint64(n/8 + 1), Messages: uint64(3 * n), //nolint:gosec // not negative
		}
		w.Record(e)
		e.Kind, e.FromNS, e.SentNS, e.AtNS = history.KindRelease, at+500_000, 0, at+600_000
		w.Record(e)
	}
	w.Record(history.Event{Kind: history.KindPhase, State: history.PhaseDrain, AtNS: at + 1_000_000})
	w.Record(history.Event{Kind: history.KindPhase, State: history.PhaseEnd, AtNS: at + 1_000_000})
	must.Do(b, w.Close())
	return sides{func(ctx context.Context, _ time.Duration) (float64, error) {
		began := clock.Mono()
		row, err := check.File(ctx, path)
		n := row.Figures["requests"] // of those that were asked for from the beginning on
		if err == nil && (row.Verdict.Safety.State != result.OK || n < holds-8) {
			err = fmt.Errorf("check history: safety is %v of %.0f holds, want ok of %d", row.Verdict.Safety, n, holds)
		}
		return since(began).Seconds(), err
	}, one}
}
