package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks"
)

// hotWaiters is how many workers of each process want the one resource.
const hotWaiters = 32

// cohortRow compares how often one hot resource is taken, by 64 workers of two
// processes, if one acquisition among the peers serves the waiters of a process in
// turn and if each makes its own.
func cohortRow() row {
	return row{
		name: "multiphase:cohort / multiphase, one resource, 64 workers of 2 processes", reach: 3, unit: "ops/s",
		start: func(ctx context.Context) (measurement, measurement, func(), error) {
			cohort, err := startGroup(ctx, 2, "multiphase:cohort")
			if err != nil {
				return nil, nil, nil, err
			}
			plain, err := startGroup(ctx, 2, "multiphase")
			if err != nil {
				cohort.stop()
				return nil, nil, nil, err
			}
			return cohort.hotRate, plain.hotRate, func() { cohort.stop(); plain.stop() }, nil
		},
	}
}

// hotRate is how often per second the workers of all processes of the group take the
// hot resource. All processes have one processor, as the lab's masters do.
func (g *group) hotRate(ctx context.Context, d time.Duration) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	start := time.Now()
	for _, stdin := range g.stdin {
		if _, err := fmt.Fprintln(stdin, "go"); err != nil {
			return 0, err
		}
	}
	own := startHot(g.lock) //nolint:contextcheck // stop ends it
	err := wait(ctx, d)
	for _, stdin := range g.stdin {
		if _, e := fmt.Fprintln(stdin, "stop"); e != nil {
			err = errors.Join(err, e)
		}
	}
	took := time.Since(start)
	total, e := own.stop()
	err = errors.Join(err, e)
	for _, stdout := range g.stdout {
		var n int64
		if _, e := fmt.Fscanln(stdout, &n); e != nil {
			err = errors.Join(err, fmt.Errorf("read a count: %w", e))
		}
		total += n
	}
	return float64(total) / took.Seconds(), err
}

// serveHot does in another process of a group what its input says: "go" and "stop",
// which is answered with how often the hot resource was taken. It ends with its input.
func serveHot(l locks.Locker, in io.Reader, out io.Writer) error {
	var running *hot
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case "go":
			running = startHot(l)
		case "stop":
			n, err := running.stop()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// hot is workers that all take the same resource, over and over.
type hot struct {
	over   atomic.Bool
	taken  atomic.Int64
	failed atomic.Pointer[error]
	wg     sync.WaitGroup
}

func startHot(l locks.Locker) *hot {
	h := &hot{}
	for range hotWaiters {
		h.wg.Go(func() {
			ctx := context.Background()
			for !h.over.Load() {
				lease, err := l.Acquire(ctx, "bench/hot")
				if err == nil {
					err = lease.Release(ctx)
				}
				if err != nil {
					h.failed.CompareAndSwap(nil, &err)
					return
				}
				if !h.over.Load() {
					h.taken.Add(1)
				}
			}
		})
	}
	return h
}

// stop waits for the workers and says how often they took it until now.
func (h *hot) stop() (int64, error) {
	h.over.Store(true)
	h.wg.Wait()
	if p := h.failed.Load(); p != nil {
		return 0, *p
	}
	return h.taken.Load(), nil
}
