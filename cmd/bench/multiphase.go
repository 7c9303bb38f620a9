package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
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
			start: withGroup(c.n, func(g *group) (subject, peer measurement) {
				return g.latency(func(acquire, _ float64) float64 { return acquire }),
					g.latency(func(_, echo float64) float64 { return echo })
			}),
		})
	}
	const inFlight = 1000
	return append(
		rows,
		row{
			name:  "multiphase, 1,000 names in flight / bare request-grant rounds, 3 processes",
			reach: 0.5, unit: "ops/s",
			start: withGroup(3, func(g *group) (subject, peer measurement) { return g.acquireRate(inFlight), g.bareRate(inFlight) }),
		},
		row{
			name: "multiphase, 1,000 names in flight / bare rounds nobody waits for, 3 processes",
			unit: "ops/s",
			start: withGroup(3, func(g *group) (subject, peer measurement) {
				return g.acquireRate(inFlight), g.bareEchoRate(inFlight)
			}),
		},
		// The headline has two masters; three show what each further one costs.
		againstRedlock(2, 10), againstRedlock(3, 0),
		cohortRow(),
	)
}

func withGroup(n int, pick func(*group) (subject, peer measurement)) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		g, err := startGroup(ctx, n, "multiphase", stops)
		if err == nil {
			subject, peer = pick(g)
		}
		return subject, peer, err
	}
}

// againstRedlock compares n masters with redlock on five instances, each worker with
// a name of its own.
func againstRedlock(n int, reach float64) row {
	const workers = 64
	return row{
		name:  fmt.Sprintf("multiphase acquire+release, %d processes / redlock, a name each, %d workers", n, workers),
		reach: reach, unit: "ops/s",
		start: func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
			redis, err1 := startRedisBench(ctx, stops)
			g, err2 := startGroup(ctx, n, "multiphase", stops)
			return g.acquireRate(workers), redis.redlockRate(workers), errors.Join(err1, err2)
		},
	}
}

// cohortRow compares how often one hot resource is taken, by 64 workers of two
// processes, if one acquisition among the peers serves the waiters of a process in
// turn and if each makes its own.
func cohortRow() row {
	return row{
		name: "multiphase:cohort / multiphase, one resource, 64 workers of 2 processes", reach: 3, unit: "ops/s",
		start: func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
			cohort, err1 := startGroup(ctx, 2, "multiphase:cohort", stops)
			plain, err2 := startGroup(ctx, 2, "multiphase", stops)
			return cohort.hotRate, plain.hotRate, errors.Join(err1, err2)
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
	return rate(workers, func(ctx context.Context, w int) error { return pair(ctx, g.lock, names[w]) })
}

// bareRate is the same with nothing but the mesh: each worker asks all peers and
// waits until they have answered.
func (g *group) bareRate(workers int) measurement {
	b := g.bare
	rounds := rate(workers, func(ctx context.Context, w int) error {
		b.mu.Lock()
		b.ask(uint32(w)) //nolint:gosec // not negative
		b.mu.Unlock()
		g.mesh.FlushTogether(nil)
		select {
		case <-b.wake[w]:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return func(ctx context.Context, d time.Duration) (float64, error) {
		b.begin(workers, true)
		return rounds(ctx, d)
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
		for id := range uint32(inFlight) { //nolint:gosec // not negative
			b.ask(id)
		}
		b.mu.Unlock()
		g.mesh.Flush()
		_ = clock.Sleep(ctx, d) // it is looked at below
		b.mu.Lock()
		b.over = true
		defer b.mu.Unlock()
		return float64(b.done) / since(start).Seconds(), ctx.Err()
	}
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
		acquire, err := timed(func(ctx context.Context) (time.Duration, error) {
			for _, peer := range g.echoes {
				if _, err := echoOnce(peer); err != nil {
					return 0, err
				}
			}
			took, err := echoOnce(g.echoes[len(echoes)%len(g.echoes)])
			if err != nil {
				return 0, err
			}
			echoes = append(echoes, micros(took))
			return acquire(ctx, g.lock, "bench/uncontended")
		})(ctx, d)
		return pick(acquire, median(echoes)), err
	}
}

// echoOnce is one message there and back.
func echoOnce(peer net.Conn) (time.Duration, error) {
	var buf [messageBytes]byte
	start := clock.Mono()
	if _, err := peer.Write(buf[:]); err != nil {
		return 0, err
	}
	_, err := io.ReadFull(peer, buf[:])
	return since(start), err
}

// hotRate is how often per second the workers of all processes of the group take one
// resource. All processes have one processor, as the lab's masters do.
func (g *group) hotRate(ctx context.Context, d time.Duration) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	start := clock.Mono()
	for _, p := range g.others {
		if _, err := fmt.Fprintln(p.stdin, int64(d)); err != nil {
			return 0, err
		}
	}
	total, err := takeHot(ctx, g.lock, d)
	for _, p := range g.others {
		var n int
		if _, e := fmt.Fscanln(p.stdout, &n); e != nil {
			err = errors.Join(err, fmt.Errorf("read a count: %w", e))
		}
		total += n
	}
	return float64(total) / since(start).Seconds(), err
}
