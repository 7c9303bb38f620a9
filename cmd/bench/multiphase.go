package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// multiphaseRows measures one peer, in this process, against n-1 others, each in a
// process of its own. All of them also serve the two floors: an echo over plain
// TCP, and the mesh with no locking logic on it.
func multiphaseRows() []row {
	var rows []row
	for _, c := range []struct {
		n     int
		reach float64
	}{{2, 2}, {3, 4}, {6, 15}} {
		rows = append(rows, row{
			name:  fmt.Sprintf("multiphase acquire p50 / round trip of one message, %d processes", c.n),
			reach: c.reach, atMost: true, unit: "us",
			start: func(ctx context.Context) (measurement, measurement, func(), error) {
				g, err := startGroup(ctx, c.n, "multiphase")
				if err != nil {
					return nil, nil, nil, err
				}
				acquire := func(ctx context.Context, d time.Duration) (float64, error) {
					acquire, _, err := g.latencies(ctx, d)
					return acquire, err
				}
				echo := func(ctx context.Context, d time.Duration) (float64, error) {
					_, echo, err := g.latencies(ctx, d)
					return echo, err
				}
				return acquire, echo, g.stop, nil
			},
		})
	}
	const inFlight = 1000
	floor := func(name string, reach float64, measure func(*group) measurement) row {
		return row{name: name, reach: reach, unit: "ops/s", start: func(ctx context.Context) (measurement, measurement, func(), error) {
			g, err := startGroup(ctx, 3, "multiphase")
			if err != nil {
				return nil, nil, nil, err
			}
			return g.acquireRate(inFlight), measure(g), g.stop, nil
		}}
	}
	return append(rows,
		floor("multiphase, 1,000 names in flight / bare request-grant rounds, 3 processes", 0.5,
			func(g *group) measurement { return g.bareRate(inFlight) }),
		floor("multiphase, 1,000 names in flight / bare rounds nobody waits for, 3 processes", 0,
			func(g *group) measurement { return g.bareEchoRate(inFlight) }),
		// The headline has two masters; three show what each further one costs.
		againstRedlock(2, 10), againstRedlock(3, 0),
		cohortRow())
}

// againstRedlock compares n masters with redlock on five instances, each worker with
// a name of its own.
func againstRedlock(n int, reach float64) row {
	const workers = 64
	return row{
		name:  fmt.Sprintf("multiphase acquire+release, %d processes / redlock, a name each, %d workers", n, workers),
		reach: reach, unit: "ops/s",
		start: func(ctx context.Context) (measurement, measurement, func(), error) {
			redis, stopRedis, err := startRedisBench(ctx)
			if err != nil {
				return nil, nil, nil, err
			}
			g, err := startGroup(ctx, n, "multiphase")
			if err != nil {
				stopRedis()
				return nil, nil, nil, err
			}
			return g.acquireRate(workers), redis.redlockRate(workers), func() { g.stop(); stopRedis() }, nil
		},
	}
}

// acquireRate is how often per second workers acquire and release, each the same
// name of its own over and over.
func (g *group) acquireRate(workers int) measurement {
	names := make([]string, workers)
	for i := range names {
		names[i] = fmt.Sprintf("bench/name-%04d", i)
	}
	return func(ctx context.Context, d time.Duration) (float64, error) {
		return rate(ctx, workers, d, func(i int) error {
			lease, err := g.lock.Acquire(ctx, names[i])
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		})
	}
}

// bareRate is the same with nothing but the mesh: each worker asks all peers and
// waits until they have answered.
func (g *group) bareRate(workers int) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		b := g.bare
		b.begin(workers, true)
		return rate(ctx, workers, d, func(i int) error {
			b.mu.Lock()
			b.ask(i)
			b.mu.Unlock()
			g.mesh.FlushTogether(nil)
			select {
			case <-b.wake[i]:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
}

// bareEchoRate keeps as many requests in flight without anybody who waits: the
// handler asks again as soon as all have answered.
func (g *group) bareEchoRate(inFlight int) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		b := g.bare
		b.begin(inFlight, false)
		start := clock.Mono()
		b.mu.Lock()
		for id := range inFlight {
			b.ask(id)
		}
		b.mu.Unlock()
		g.mesh.Flush()
		err := wait(ctx, d)
		b.mu.Lock()
		b.over = true
		done, took := b.done, clock.Mono()-start
		b.mu.Unlock()
		select {
		case <-b.drained:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return float64(done) / time.Duration(took).Seconds(), err
	}
}

// rate is how often per second workers together do something once.
func rate(ctx context.Context, workers int, d time.Duration, once func(worker int) error) (float64, error) {
	var ops atomic.Int64
	var failed atomic.Pointer[error]
	var over atomic.Bool
	var wg sync.WaitGroup
	start := clock.Mono()
	for i := range workers {
		wg.Go(func() {
			n := int64(0)
			for !over.Load() {
				if err := once(i); err != nil {
					failed.CompareAndSwap(nil, &err)
					break
				}
				n++
			}
			ops.Add(n)
		})
	}
	err := wait(ctx, d)
	over.Store(true)
	took := clock.Mono() - start
	wg.Wait()
	if p := failed.Load(); p != nil {
		err = *p
	}
	return float64(ops.Load()) / time.Duration(took).Seconds(), err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := clock.System().NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// latencies are the medians, in microseconds, of Acquire and of a message's round
// trip over plain TCP. They take turns within one loop: whether a core sleeps deeply
// or not changes both several times over, and must not come between them. After each
// Release an echo with every peer, not timed, gives them time to take notice of it, for
// an uncontended acquisition does not overlap with the end of another. All processes
// have one processor, as the lab's masters do: with two, a goroutine that was just
// made ready is sometimes carried to the other core, which has to be woken first.
func (g *group) latencies(ctx context.Context, d time.Duration) (acquire, echo float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var acquires, echoes []int64
	for end := clock.Mono() + int64(d); clock.Mono() < end; {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		for _, peer := range g.echoes {
			if _, err := echoOnce(peer); err != nil {
				return 0, 0, err
			}
		}
		took, err := echoOnce(g.echoes[len(echoes)%len(g.echoes)])
		if err != nil {
			return 0, 0, err
		}
		echoes = append(echoes, took)
		start := clock.Mono()
		lease, err := g.lock.Acquire(ctx, "bench/uncontended")
		acquires = append(acquires, clock.Mono()-start)
		if err != nil {
			return 0, 0, err
		}
		if err := lease.Release(ctx); err != nil {
			return 0, 0, err
		}
	}
	return micros(acquires), micros(echoes), nil
}

// echoOnce is one message there and back, in nanoseconds.
func echoOnce(peer net.Conn) (int64, error) {
	var buf [messageBytes]byte
	start := clock.Mono()
	if _, err := peer.Write(buf[:]); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(peer, buf[:])
	return clock.Mono() - start, err
}

// micros is the median of durations in nanoseconds, in microseconds.
func micros(ns []int64) float64 {
	slices.Sort(ns)
	return float64(ns[len(ns)/2]) / 1e3
}

// medianMicros does something over and over and returns the median of what it took.
func medianMicros(ctx context.Context, d time.Duration, once func() (int64, error)) (float64, error) {
	var took []int64
	for end := clock.Mono() + int64(d); clock.Mono() < end; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		ns, err := once()
		if err != nil {
			return 0, err
		}
		took = append(took, ns)
	}
	return micros(took), nil
}
