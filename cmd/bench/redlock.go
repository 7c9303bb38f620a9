package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/locks"
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
			reach: r.reach,
			unit:  "ops/s",
			start: withRedis(func(b *redisBench) (measurement, measurement) {
				return b.redlockRate(r.workers), b.redsyncRate(r.workers)
			}),
		})
	}
	return append(rows,
		row{
			name:   "redlock acquire p50 / 5 parallel SETs p50, 1 worker",
			reach:  1.3,
			atMost: true,
			unit:   "us",
			start: withRedis(func(b *redisBench) (measurement, measurement) {
				return b.redlockAcquire, b.parallelSets
			}),
		},
		contendedRow("redlock:wake=publish, one key, 16 clients of 1 worker: owner changes / redsync; wake-ups, not the algorithm", 20,
			contention{publish, 16, 1}, nil),
		contendedRow("redlock:wake=publish, one key, 16 clients of 1 worker: owner changes / redsync with 1 ms delay; wake-ups, not the algorithm", 5,
			contention{publish, 16, 1}, redsyncDelay),
		contendedRow("redlock:delay=1ms (textbook), one key, 16 clients of 1 worker: owner changes / redsync with 1 ms delay", 1,
			contention{textbook, 16, 1}, redsyncDelay),
		contendedRow("redlock:wake=publish, one key, 16 goroutines of 1 process: goroutine changes / redsync; its local queue", 20,
			contention{publish, 1, 16}, nil),
		contendedRow("redlock:wake=publish, one key, 16 goroutines of 1 process: goroutine changes / redsync with 1 ms delay; its local queue", 5,
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

// redsyncDelay takes the place of redsync's own pause of 50 to 250 ms.
func redsyncDelay(m *redsync.Mutex) { redsync.WithRetryDelay(time.Millisecond).Apply(m) }

// contendedRow compares with 16 users of redsync. All of these share a pool of
// connections, as goroutines of one process do; it makes them no slower.
func contendedRow(name string, reach float64, c contention, peer func(*redsync.Mutex)) row {
	return row{
		name: name, reach: reach, unit: "/s",
		start: withRedis(func(b *redisBench) (measurement, measurement) {
			return b.redlockChanges(c), b.redsyncChanges(16, peer)
		}),
	}
}

func fairnessRow(name string, c contention) row {
	return row{
		name:  name,
		reach: 0.6,
		unit:  "of the most served",
		start: withRedis(func(b *redisBench) (measurement, measurement) {
			return func(ctx context.Context, d time.Duration) (float64, error) {
				served, _, err := b.contend(ctx, d, c)
				if err != nil {
					return 0, err
				}
				return float64(slices.Min(served)) / float64(slices.Max(served)), nil
			}, nil
		}),
	}
}

const redisInstances = 5

// redisBench is five servers and the clients that are measured on them.
type redisBench struct {
	addrs   []redlock.Instance
	locker  *redlock.Locker
	clients []*redis.Client // go-redis as it is by default, for the peers
	sync    *redsync.Redsync
}

// withRedis makes a row's start out of what measures with the servers running.
func withRedis(pick func(*redisBench) (subject, peer measurement)) func(context.Context) (measurement, measurement, func(), error) {
	return func(ctx context.Context) (measurement, measurement, func(), error) {
		b, stop, err := startRedisBench(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		subject, peer := pick(b)
		return subject, peer, stop, nil
	}
}

func startRedisBench(ctx context.Context) (_ *redisBench, stop func(), err error) {
	b := &redisBench{}
	var stops stopList
	defer func() {
		if err != nil {
			stops.run()
		}
	}()
	dir, err := os.MkdirTemp("", "locklab-bench-redis-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for redis: %w", err)
	}
	stops.add(func() { _ = os.RemoveAll(dir) })
	addrs, err := freePorts(ctx, redisInstances)
	if err != nil {
		return nil, nil, err
	}
	var pools []redsyncredis.Pool
	for i, addr := range addrs {
		name := fmt.Sprintf("redis-%d", i+1)
		_, port, _ := net.SplitHostPort(addr)
		if err := startProcess(ctx, &stops, dir, name, "redis-server",
			"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir); err != nil {
			return nil, nil, err
		}
		client := redis.NewClient(&redis.Options{Addr: addr})
		stops.add(func() { _ = client.Close() })
		if err := awaitRedis(ctx, client); err != nil {
			return nil, nil, err
		}
		b.clients = append(b.clients, client)
		pools = append(pools, goredis.NewPool(client))
		b.addrs = append(b.addrs, redlock.Instance{Name: name, Addr: addr})
	}
	b.sync = redsync.New(pools...)
	if b.locker, err = redlock.New(redlock.Config{Addrs: b.addrs}); err != nil {
		return nil, nil, err
	}
	stops.add(func() { _ = b.locker.Close() })
	return b, stops.run, nil
}

func awaitRedis(ctx context.Context, client *redis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("redis-server does not answer: %w", err)
		}
	}
}

// serve counts the steps of each worker. A worker ends at its first error.
func serve(ctx context.Context, d time.Duration, workers int, step func(ctx context.Context, worker int) error) ([]int, time.Duration, error) {
	served := make([]int, workers)
	errs := make([]error, workers)
	begin := clock.Mono()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for clock.Mono()-begin < int64(d) && ctx.Err() == nil && errs[w] == nil {
				if errs[w] = step(ctx, w); errs[w] == nil {
					served[w]++
				}
			}
		})
	}
	wg.Wait()
	return served, time.Duration(clock.Mono() - begin), errors.Join(append(errs, ctx.Err())...)
}

func (b *redisBench) redlockRate(workers int) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		return rate(ctx, workers, d, func(w int) error {
			return passThrough(ctx, b.locker, fmt.Sprintf("bench-%d", w), nil)
		})
	}
}

// passThrough acquires, notes it, and releases.
func passThrough(ctx context.Context, l locks.Locker, resource string, inside func()) error {
	lease, err := l.Acquire(ctx, resource)
	if err != nil {
		return err
	}
	if inside != nil {
		inside()
	}
	return lease.Release(ctx)
}

func (b *redisBench) redsyncRate(workers int) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		mutexes := make([]*redsync.Mutex, workers)
		for w := range mutexes {
			mutexes[w] = b.sync.NewMutex(fmt.Sprintf("redsync-%d", w))
		}
		return rate(ctx, workers, d, func(w int) error {
			if err := mutexes[w].LockContext(ctx); err != nil {
				return err
			}
			_, err := mutexes[w].UnlockContext(ctx)
			return err
		})
	}
}

// redlockAcquire is the median of Acquire alone; the release is outside of it.
func (b *redisBench) redlockAcquire(ctx context.Context, d time.Duration) (float64, error) {
	return medianMicros(ctx, d, func() (int64, error) {
		begin := clock.Mono()
		lease, err := b.locker.Acquire(ctx, "bench-acquire")
		took := clock.Mono() - begin
		if err != nil {
			return 0, err
		}
		return took, lease.Release(ctx)
	})
}

// parallelSets is the floor: the round trips of an acquisition and nothing else. The
// deletions are outside of it, as the release is in redlockAcquire.
func (b *redisBench) parallelSets(ctx context.Context, d time.Duration) (float64, error) {
	all := func(do func(*redis.Client) error) error {
		errs := make([]error, len(b.clients))
		var wg sync.WaitGroup
		for i, c := range b.clients {
			wg.Go(func() { errs[i] = do(c) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	return medianMicros(ctx, d, func() (int64, error) {
		begin := clock.Mono()
		err := all(func(c *redis.Client) error {
			return c.SetNX(ctx, "bench-floor", "0123456789abcdef0123456789abcdef", 3*time.Second).Err()
		})
		took := clock.Mono() - begin
		if err != nil {
			return 0, err
		}
		return took, all(func(c *redis.Client) error { return c.Del(ctx, "bench-floor").Err() })
	})
}

// contend lets workers pass through one key. It counts how often each was served, and
// how often the holder was another worker than the one before.
func (b *redisBench) contend(ctx context.Context, d time.Duration, c contention) (served []int, changesPS float64, err error) {
	options := redlock.DefaultOptions()
	c.options(&options)
	lockers := make([]*redlock.Locker, c.clients)
	for i := range lockers {
		if lockers[i], err = redlock.New(redlock.Config{Addrs: b.addrs, Options: options}); err != nil {
			return nil, 0, err
		}
		defer func() { err = errors.Join(err, lockers[i].Close()) }()
	}
	var owners owners
	served, took, err := serve(ctx, d, c.clients*c.perClient, func(ctx context.Context, w int) error {
		return passThrough(ctx, lockers[w%c.clients], "bench-contended", func() { owners.enter(w) })
	})
	return served, owners.perSecond(took), errors.Join(err, owners.err())
}

func (b *redisBench) redlockChanges(c contention) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		_, changes, err := b.contend(ctx, d, c)
		return changes, err
	}
}

// redsyncChanges is redsync, changed by option if there is one. A Lock that used up its
// tries is tried again.
func (b *redisBench) redsyncChanges(workers int, option func(*redsync.Mutex)) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var owners owners
		_, took, err := serve(ctx, d, workers, func(ctx context.Context, w int) error {
			m := b.sync.NewMutex("redsync-contended")
			if option != nil {
				option(m)
			}
			if m.LockContext(ctx) != nil {
				return ctx.Err()
			}
			owners.enter(w)
			_, err := m.UnlockContext(ctx)
			return err
		})
		return owners.perSecond(took), err
	}
}

// owners counts changes of the holder.
type owners struct {
	last    atomic.Int64 // worker + 1
	changes atomic.Int64
	entered atomic.Int64
}

func (o *owners) enter(worker int) {
	o.entered.Add(1)
	if o.last.Swap(int64(worker)+1) != int64(worker)+1 {
		o.changes.Add(1)
	}
}

func (o *owners) perSecond(took time.Duration) float64 {
	return math.Round(float64(o.changes.Load()) / took.Seconds())
}

func (o *owners) err() error {
	if o.entered.Load() == 0 {
		return errors.New("nobody was served")
	}
	return nil
}
