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

// drawnDelay is the pause between two tries that redlock:delay=1ms has, and redsyncDelay.
const drawnDelay = "1 ms delay, drawn from 0.5 to 1.5 ms"

// redlockRows compare redlock with redsync and with the floor, on five redis-server
// processes in memory on the loopback.
func redlockRows() []row {
	const textbook = "redlock:delay=1ms"
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 1.4}, {16, 3.5}, {64, 6}} {
		name := fmt.Sprintf("redlock acquire+release / redsync, a key each, %d goroutines of one process over shared pipelines", r.workers)
		rows = append(rows, row{name: name, reach: r.reach, unit: "ops/s", start: func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			return rate(r.workers, pairs(s.redlock("redlock"), ownKey)), s.redsyncRate(r.workers)
		}})
	}
	return append(
		rows,
		row{
			name: "redlock acquire p50 / 5 parallel SETs p50, 1 worker", reach: 1.3, atMost: true, unit: "us",
			start: func(b testing.TB) (subject, peer measurement) {
				s := startRedis(b)
				l := s.redlock("redlock")
				return timed(func(ctx context.Context) (time.Duration, error) { return acquire(ctx, l, "bench-acquire") }), timed(s.parallelSets)
			},
		},
		// The clients know nothing of each other, as processes do. The users of redsync share a pool of
		// connections, as goroutines of one process do; it makes them no slower.
		row{
			name:  textbook + " (textbook), one key, 16 clients of 1 worker: owner changes / redsync, both with " + drawnDelay,
			reach: 1, unit: "/s",
			start: func(b testing.TB) (subject, peer measurement) {
				const workers = 16
				s := startRedis(b)
				return changes(workers, through(many(workers, func() locks.Locker { return s.redlock(textbook) }))),
					changes(workers, s.redsyncPass())
			},
		},
	)
}

// redsyncDelay takes the place of redsync's own pause of 50 to 250 ms, which is drawn too. Its
// setting for another one is fixed, and waiters would come back in step.
func redsyncDelay(worker int) redsync.Option {
	pauses := seed.Seed(1).Child(fmt.Sprintf("redsync %d", worker)).Rand()
	return redsync.WithRetryDelayFunc(func(int) time.Duration {
		return time.Millisecond/2 + time.Duration(pauses.Int64N(int64(time.Millisecond)+1))
	})
}

// redisRows compare the lock on one instance with its bare commands, and waiting for a
// message with polling.
func redisRows() []row {
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 0.9}, {16, 1.5}, {64, 2}} {
		name := fmt.Sprintf("redis acquire+release / SET NX PX and compare-and-delete by go-redis, a key each, %d goroutines", r.workers)
		rows = append(rows, row{name: name, reach: r.reach, unit: "ops/s", start: func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			return rate(r.workers, pairs(s.redis("redis"), ownKey)), s.bareRate(r.workers)
		}})
	}
	// With two clients one waits, and the ratio is that of a message to a pause: the figure to reach is
	// for that. With many it is not: a message wakes them all for one grant, and of many who poll there
	// is always one who looks soon.
	for _, r := range []struct {
		clients int
		reach   float64
		why     string
	}{{2, 20, "1 waits: a message against a pause"}, {16, 0, "15 wait: one of these polls every 3 ms, and a message wakes them all for one grant"}} {
		name := fmt.Sprintf("redis:pubsub, one key, %d clients of 1 worker: owner changes / redis polling every 50 ms; %s", r.clients, r.why)
		rows = append(rows, row{name: name, reach: r.reach, unit: "/s", start: func(b testing.TB) (subject, peer measurement) {
			s := startRedis(b)
			of := func(lock string) measurement {
				return changes(r.clients, through(many(r.clients, func() locks.Locker { return s.redis(lock) })))
			}
			return of("redis:pubsub"), of("redis:delay=50ms")
		}})
	}
	return rows
}

// redisServers are five servers and the clients that are measured on them.
type redisServers struct {
	b       testing.TB
	addrs   []string
	clients []*goredis.Client // go-redis as it is by default, for the peers
	sync    *redsync.Redsync
}

func startRedis(b testing.TB) *redisServers {
	b.Helper()
	s := &redisServers{b: b}
	var pools []redsyncredis.Pool
	for _, server := range redistest.Start(b, 5) {
		client := server.Client()
		b.Cleanup(func() { _ = client.Close() }) // its end cannot change a figure any more
		s.addrs, s.clients, pools = append(s.addrs, server.Addr()), append(s.clients, client), append(pools, pool.NewPool(client))
	}
	s.sync = redsync.New(pools...)
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

func (s *redisServers) redsyncRate(workers int) measurement {
	mutexes := make([]*redsync.Mutex, workers)
	for w := range mutexes {
		mutexes[w] = s.sync.NewMutex(fmt.Sprintf("redsync-%d", w))
	}
	return rate(workers, func(ctx context.Context, w int) error {
		if err := mutexes[w].LockContext(ctx); err != nil {
			return err
		}
		_, err := mutexes[w].UnlockContext(ctx)
		return err
	})
}

// parallelSets is the floor: the round trips of an acquisition and nothing else. The
// deletions are not timed, as releases are not.
func (s *redisServers) parallelSets(ctx context.Context) (time.Duration, error) {
	begin := clock.Mono()
	var sets errgroup.Group
	for _, c := range s.clients {
		sets.Go(func() error {
			return c.SetNX(ctx, "bench-floor", "0123456789abcdef0123456789abcdef", 3*time.Second).Err()
		})
	}
	err := sets.Wait()
	took := since(begin)
	for _, c := range s.clients {
		err = errors.Join(err, c.Del(ctx, "bench-floor").Err())
	}
	return took, err
}

// bareRate is the two commands of the lock and nothing else, over go-redis's own pool.
func (s *redisServers) bareRate(workers int) measurement {
	const token = "0123456789abcdef0123456789abcdef"
	release := goredis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)
	client := s.clients[0]
	return rate(workers, func(ctx context.Context, w int) error {
		key := fmt.Sprintf("bare-%d", w)
		if err := client.SetNX(ctx, key, token, 3*time.Second).Err(); err != nil {
			return err
		}
		return release.Run(ctx, client, []string{key}, token).Err()
	})
}

// inside is a pass through a lock that calls a function while it holds.
type inside func(ctx context.Context, worker int, hold func()) error

// through has the workers pass through one key, by the clients in turn.
func through(clients []locks.Locker) inside {
	return func(ctx context.Context, w int, hold func()) error {
		lease, err := clients[w%len(clients)].Acquire(ctx, "bench-contended")
		if err != nil {
			return err
		}
		hold()
		return lease.Release(ctx)
	}
}

func many(n int, one func() locks.Locker) (all []locks.Locker) {
	for range n {
		all = append(all, one())
	}
	return all
}

// redsyncPass is redsync with redsyncDelay. A Lock that used up its tries is tried again.
func (s *redisServers) redsyncPass() inside {
	options := make([]redsync.Option, 16)
	for w := range options {
		options[w] = redsyncDelay(w)
	}
	return func(ctx context.Context, w int, hold func()) error {
		m := s.sync.NewMutex("redsync-contended", options[w])
		if m.LockContext(ctx) != nil {
			return ctx.Err()
		}
		hold()
		_, err := m.UnlockContext(ctx)
		return err
	}
}

// changes has workers pass through a lock and counts changes of the holder.
func changes(workers int, once inside) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var last, changes atomic.Int64 // last is the worker + 1
		_, took, err := loop(ctx, d, workers, func(ctx context.Context, w int) error {
			return once(ctx, w, func() {
				if last.Swap(int64(w)+1) != int64(w)+1 {
					changes.Add(1)
				}
			})
		})
		if changes.Load() == 0 {
			err = errors.Join(err, errors.New("no worker was served"))
		}
		return math.Round(float64(changes.Load()) / took.Seconds()), err
	}
}
