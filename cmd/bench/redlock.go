package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// redlockRows compare redlock with redsync and with the floor, on five redis-server
// processes in memory on the loopback.
func redlockRows() []row {
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 1.4}, {16, 3.5}, {64, 6}} {
		rows = append(rows, row{
			name:  fmt.Sprintf("redlock acquire+release / redsync, a key each, %d goroutines of one process over shared pipelines", r.workers),
			reach: r.reach, unit: "ops/s",
			start: withRedis(func(b *redisBench) (measurement, measurement, error) {
				return b.redlockRate(r.workers), b.redsyncRate(r.workers), nil
			}),
		})
	}
	return append(rows,
		row{
			name: "redlock acquire p50 / 5 parallel SETs p50, 1 worker", reach: 1.3, atMost: true, unit: "us",
			start: withRedis(func(b *redisBench) (measurement, measurement, error) {
				return timed(func(ctx context.Context) (time.Duration, error) { return acquire(ctx, b.locker, "bench-acquire") }),
					timed(b.parallelSets), nil
			}),
		},
		contendedRow("redlock:wake=publish, one key, 16 clients of 1 worker: owner changes / redsync; wake-ups, not the algorithm", 20,
			contention{publish, 16, 1}, nil),
		contendedRow("redlock:wake=publish, one key, 16 clients of 1 worker: owner changes / redsync with "+drawnDelay+"; wake-ups, not the algorithm", 5,
			contention{publish, 16, 1}, redsyncDelay),
		contendedRow("redlock:delay=1ms (textbook), one key, 16 clients of 1 worker: owner changes / redsync, both with "+drawnDelay, 1,
			contention{textbook, 16, 1}, redsyncDelay),
		contendedRow("redlock:wake=publish, one key, 16 goroutines of 1 process: goroutine changes / redsync; its local queue", 20,
			contention{publish, 1, 16}, nil),
		contendedRow("redlock:wake=publish, one key, 16 goroutines of 1 process: goroutine changes / redsync with "+drawnDelay+"; its local queue", 5,
			contention{publish, 1, 16}, redsyncDelay),
		fairnessRow("redlock:wake=publish, one key, 16 goroutines of 1 process: least / most served", contention{publish, 1, 16}),
		fairnessRow("redlock:wake=publish, one key, 16 clients of 1 worker: least / most served", contention{publish, 16, 1}),
		fairnessRow("redlock:wake=publish, one key, 4 clients of 4 workers: least / most served", contention{publish, 4, 4}),
	)
}

// contention is who wants one key: clients that know nothing of each other, as
// processes do, each with its own connections.
type contention struct {
	options            func(*redlock.Options)
	clients, perClient int
}

func publish(o *redlock.Options)  { o.Wake = redlock.Publish }
func textbook(o *redlock.Options) { o.Delay = time.Millisecond }

// drawnDelay is the pause between two tries that redlock:delay=1ms has, and redsyncDelay.
const drawnDelay = "1 ms delay, drawn from 0.5 to 1.5 ms"

// redsyncDelay takes the place of redsync's own pause of 50 to 250 ms, which is drawn too. Its
// setting for another one is fixed, and who waits would come back in step.
func redsyncDelay(pauses *rand.Rand) redsync.Option {
	return redsync.WithRetryDelayFunc(func(int) time.Duration {
		return time.Millisecond/2 + time.Duration(pauses.Int64N(int64(time.Millisecond)+1))
	})
}

// contendedRow compares with 16 users of redsync. All of these share a pool of
// connections, as goroutines of one process do; it makes them no slower.
func contendedRow(name string, reach float64, c contention, peer func(*rand.Rand) redsync.Option) row {
	return row{
		name: name, reach: reach, unit: "/s",
		start: withRedis(func(b *redisBench) (measurement, measurement, error) {
			subject, err := b.contend(c, func(_ []int, changesPS float64) float64 { return changesPS })
			return subject, b.redsyncChanges(16, peer), err
		}),
	}
}

func fairnessRow(name string, c contention) row {
	return row{
		name: name, reach: 0.6, unit: "of the most served",
		start: withRedis(func(b *redisBench) (measurement, measurement, error) {
			subject, err := b.contend(c, func(served []int, _ float64) float64 {
				return float64(slices.Min(served)) / float64(slices.Max(served))
			})
			return subject, nil, err
		}),
	}
}

// redisBench is five servers and the clients that are measured on them.
type redisBench struct {
	stops   *stopList
	addrs   []string
	locker  *redlock.Locker
	clients []*redis.Client // go-redis as it is by default, for the peers
	sync    *redsync.Redsync
}

// withRedis makes a row's start out of what measures with the servers running.
func withRedis(pick func(*redisBench) (subject, peer measurement, err error)) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		b, err := startRedisBench(ctx, stops)
		if err != nil {
			return nil, nil, err
		}
		return pick(b)
	}
}

func startRedisBench(ctx context.Context, stops *stopList) (*redisBench, error) {
	b := &redisBench{stops: stops}
	addrs, err := freePorts(ctx, 5)
	if err != nil {
		return nil, err
	}
	var pools []redsyncredis.Pool
	for i, addr := range addrs {
		name := fmt.Sprintf("redis-%d", i+1)
		_, port, _ := net.SplitHostPort(addr)
		if _, err := startProcess(ctx, stops, nil, "redis-server",
			"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--loglevel", "warning"); err != nil {
			return nil, err
		}
		client := redis.NewClient(&redis.Options{Addr: addr})
		stops.close(client)
		if err := await(ctx, name, func(ctx context.Context) error { return client.Ping(ctx).Err() }); err != nil {
			return nil, err
		}
		b.clients = append(b.clients, client)
		pools = append(pools, goredis.NewPool(client))
		b.addrs = append(b.addrs, addr)
	}
	b.sync = redsync.New(pools...)
	b.locker, err = b.newLocker(redlock.DefaultOptions())
	return b, err
}

func (b *redisBench) newLocker(options redlock.Options) (*redlock.Locker, error) {
	l, err := redlock.New(redlock.Config{Addrs: b.addrs, Options: options})
	if err == nil {
		b.stops.close(l)
	}
	return l, err
}

func (b *redisBench) redlockRate(workers int) measurement {
	return rate(workers, func(ctx context.Context, w int) error {
		return pair(ctx, b.locker, fmt.Sprintf("bench-%d", w))
	})
}

func (b *redisBench) redsyncRate(workers int) measurement {
	mutexes := make([]*redsync.Mutex, workers)
	for w := range mutexes {
		mutexes[w] = b.sync.NewMutex(fmt.Sprintf("redsync-%d", w))
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
func (b *redisBench) parallelSets(ctx context.Context) (time.Duration, error) {
	begin := clock.Mono()
	var sets errgroup.Group
	for _, c := range b.clients {
		sets.Go(func() error {
			return c.SetNX(ctx, "bench-floor", "0123456789abcdef0123456789abcdef", 3*time.Second).Err()
		})
	}
	err := sets.Wait()
	took := since(begin)
	for _, c := range b.clients {
		err = errors.Join(err, c.Del(ctx, "bench-floor").Err())
	}
	return took, err
}

// contend lets workers pass through one key. It counts how often each was served, and
// how often the holder was another worker than the one before.
func (b *redisBench) contend(c contention, figure func(served []int, changesPS float64) float64) (measurement, error) {
	options := redlock.DefaultOptions()
	c.options(&options)
	lockers := make([]*redlock.Locker, c.clients)
	for i := range lockers {
		var err error
		if lockers[i], err = b.newLocker(options); err != nil {
			return nil, err
		}
	}
	return changes(c.clients*c.perClient, func(ctx context.Context, w int, inside func()) error {
		lease, err := lockers[w%c.clients].Acquire(ctx, "bench-contended")
		if err != nil {
			return err
		}
		inside()
		return lease.Release(ctx)
	}, figure), nil
}

// redsyncChanges is redsync, changed by option if there is one, which draws from a source of the
// worker's own. A Lock that used up its tries is tried again.
func (b *redisBench) redsyncChanges(workers int, option func(*rand.Rand) redsync.Option) measurement {
	options := make([][]redsync.Option, workers)
	for w := range options {
		if option != nil {
			options[w] = []redsync.Option{option(seed.Seed(1).Child(fmt.Sprintf("redsync %d", w)).Rand())}
		}
	}
	return changes(workers, func(ctx context.Context, w int, inside func()) error {
		m := b.sync.NewMutex("redsync-contended", options[w]...)
		if m.LockContext(ctx) != nil {
			return ctx.Err()
		}
		inside()
		_, err := m.UnlockContext(ctx)
		return err
	}, func(_ []int, changesPS float64) float64 { return changesPS })
}

// changes has workers pass through a lock and counts changes of the holder.
func changes(workers int, pass func(ctx context.Context, worker int, inside func()) error, figure func(served []int, changesPS float64) float64) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var last, changes atomic.Int64 // last is the worker + 1
		served, took, err := loop(ctx, d, workers, func(ctx context.Context, w int) error {
			return pass(ctx, w, func() {
				if last.Swap(int64(w)+1) != int64(w)+1 {
					changes.Add(1)
				}
			})
		})
		if changes.Load() == 0 {
			err = errors.Join(err, errors.New("nobody was served"))
		}
		return figure(served, math.Round(float64(changes.Load())/took.Seconds())), err
	}
}
