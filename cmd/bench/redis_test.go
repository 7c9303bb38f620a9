package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redis"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

// redisRows compare redlock with redsync and with the floor, and the lock on one instance with its bare commands, on
// five redis-server processes in memory on the loopback.
func redisRows() (all []row) {
	add := func(name string, reach float64, unit string, start func(s *redisServers) (subject, peer measurement)) {
		all = append(all, row{name, reach, unit, func(b testing.TB) (measurement, measurement) { return start(startRedis(b)) }})
	}
	for workers, reach := range inOrder([]int{1, 16, 64}, []float64{1.4, 3.5, 6}) {
		add(fmt.Sprintf("redlock acquire+release / redsync, a key each, %d goroutines of one process over shared pipelines", workers),
			reach, "ops/s", func(s *redisServers) (subject, peer measurement) {
				return rate(workers, of(ownKey, s.redlock("redlock")).pair), rate(workers, s.redsync(workers, ownKey).pair)
			})
	}
	add("redlock acquire p50 / 5 parallel SETs p50, 1 worker", 1.3, "us", func(s *redisServers) (subject, peer measurement) {
		l := s.redlock("redlock")
		return timed(func(ctx context.Context) (time.Duration, error) { return acquire(ctx, l, "bench-acquire") }), timed(s.parallelSets)
	})
	// The clients know nothing of each other, as processes do. The users of redsync share a pool of connections, as
	// goroutines of one process do; it makes them no slower.
	add("redlock:delay=1ms (textbook), one key, 16 clients of 1 worker: owner changes / redsync, "+
		"both with 1 ms delay, drawn from 0.5 to 1.5 ms", 1, "/s", func(s *redisServers) (subject, peer measurement) {
		return changes(16, of(oneKey, many(16, s.redlock, "redlock:delay=1ms")...)), changes(16, s.redsync(16, oneKey))
	})
	for workers, reach := range inOrder([]int{1, 16, 64}, []float64{0.9, 1.5, 2}) {
		add(fmt.Sprintf("redis acquire+release / SET NX PX and compare-and-delete by go-redis, a key each, %d goroutines", workers),
			reach, "ops/s", func(s *redisServers) (subject, peer measurement) {
				return rate(workers, of(ownKey, s.redis("redis")).pair), rate(workers, s.bare)
			})
	}
	// With two clients one waits, and the ratio is that of a message to a pause: the figure to reach is for that.
	pubsub := func(clients int, reach float64, why string) {
		name := "redis:pubsub, one key, %d clients of 1 worker: owner changes / redis polling every 50 ms; %s"
		add(fmt.Sprintf(name, clients, why), reach, "/s", func(s *redisServers) (subject, peer measurement) {
			return changes(clients, of(oneKey, many(clients, s.redis, "redis:pubsub")...)),
				changes(clients, of(oneKey, many(clients, s.redis, "redis:delay=50ms")...))
		})
	}
	pubsub(2, 20, "1 waits: a message against a pause")
	pubsub(16, 0, "15 wait: one of these polls every 3 ms, and a message wakes them all for one grant")
	return all
}

// inOrder passes on numbers of workers with the figure to reach of each.
func inOrder(workers []int, reach []float64) func(yield func(int, float64) bool) {
	return func(yield func(int, float64) bool) {
		for i, n := range workers {
			if !yield(n, reach[i]) {
				return
			}
		}
	}
}

func many(n int, client func(spec string) locks.Locker, spec string) (all []locks.Locker) {
	for range n {
		all = append(all, client(spec))
	}
	return all
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
	return func(ctx context.Context, w int) (func(context.Context) error, error) {
		return func(ctx context.Context) error { _, err := mutexes[w].UnlockContext(ctx); return err }, mutexes[w].LockContext(ctx)
	}
}

const bareValue = "0123456789abcdef0123456789abcdef"

// parallelSets is the floor: the round trips of an acquisition and nothing else. The
// deletions are not timed, as releases are not.
func (s *redisServers) parallelSets(ctx context.Context) (time.Duration, error) {
	begin := clock.Mono()
	var sets errgroup.Group
	for _, c := range s.clients {
		sets.Go(func() error { return c.SetNX(ctx, "bench-floor", bareValue, 3*time.Second).Err() })
	}
	err := sets.Wait()
	took := since(begin)
	for _, c := range s.clients {
		err = errors.Join(err, c.Del(ctx, "bench-floor").Err())
	}
	return took, err
}

// bare is the two commands of the lock and nothing else, over go-redis's own pool.
func (s *redisServers) bare(ctx context.Context, w int) error {
	key := fmt.Sprintf("bare-%d", w)
	if err := s.clients[0].SetNX(ctx, key, bareValue, 3*time.Second).Err(); err != nil {
		return err
	}
	return bareRelease.Run(ctx, s.clients[0], []string{key}, bareValue).Err()
}

var bareRelease = goredis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)

// changes has workers pass through a lock and counts changes of the holder per second.
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
