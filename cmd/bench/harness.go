package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/reports/compare/stats"
)

// measurement runs once for about the given time and returns its figure.
type measurement func(ctx context.Context, d time.Duration) (float64, error)

// row is one line of the table: a ratio of two subjects measured in turn, in one
// run, so that it holds although the machine's speed drifts.
type row struct {
	name string // what is divided by what
	// reach is the figure to reach: at least, or at most if atMost is set. Zero: the
	// ratio is only reported.
	reach  float64
	atMost bool
	// unit of the two figures, such as "ops/s" or "us".
	unit  string
	start starter
}

// starter makes the two subjects ready. peer is nil for a figure that stands for itself;
// then the row shows subject instead of a ratio. What it leaves in stops is called after
// the row, also if it fails.
type starter func(ctx context.Context, stops *stopList) (subject, peer measurement, err error)

// stopList runs what was added, the last first.
type stopList []func()

func (s *stopList) add(f func()) { *s = append(*s, f) }

// close adds something whose end cannot change a figure any more.
func (s *stopList) close(c io.Closer) { s.add(func() { _ = c.Close() }) }

// outcome is a measured row.
type outcome struct {
	row
	subject, peer, ratios []float64
}

// patience is how many times as many rounds a row gets whose first rounds leave open whether
// it reaches its figure.
const patience = 4

// measure runs subject and peer in turn, changing who goes first.
func measure(ctx context.Context, r row, rounds int, each time.Duration) (outcome, error) {
	out := outcome{row: r}
	var stops stopList
	defer func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}()
	subject, peer, err := r.start(ctx, &stops)
	if err != nil {
		return out, fmt.Errorf("start %q: %w", r.name, err)
	}
	for i := 0; i <= rounds || (i <= patience*rounds && out.open()); i++ { // the first round warms up and is not counted
		var figures [2]float64
		for n := range figures {
			which := (n + i) % 2
			m := [2]measurement{subject, peer}[which]
			if m == nil {
				continue
			}
			if figures[which], err = m(ctx, each); err == nil && which == 1 && figures[which] == 0 {
				err = errors.New("the peer's figure is zero")
			}
			if err != nil {
				return out, fmt.Errorf("measure %q: %w", r.name, err)
			}
		}
		if i == 0 {
			continue
		}
		ratio := figures[0]
		if peer != nil {
			out.peer = append(out.peer, figures[1])
			ratio /= figures[1]
		}
		out.subject, out.ratios = append(out.subject, figures[0]), append(out.ratios, ratio)
	}
	return out, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// interval is that of the median, with a confidence of 95 % from six rounds on; fewer are all
// within it.
func (o outcome) interval() (low, high float64) {
	low, high, _ = stats.Interval(o.ratios)
	return low, high
}

// open says that the rounds leave open whether the figure is reached.
func (o outcome) open() bool {
	low, high := o.interval()
	return o.reach != 0 && low < o.reach && o.reach < high
}

// missed says that the figure is surely not reached.
func (o outcome) missed() bool {
	low, high := o.interval()
	return o.reach != 0 && (o.atMost && low > o.reach || !o.atMost && high < o.reach)
}

// print writes one line of the table.
func (o outcome) print(w io.Writer) {
	target, mark := "reported", " "
	if o.reach != 0 {
		sign := ">="
		if o.atMost {
			sign = "<="
		}
		target = fmt.Sprintf("%s %.4g", sign, o.reach)
		switch mark = "reached"; {
		case o.missed():
			mark = "MISSED"
		case o.open():
			mark = "open"
		}
	}
	figures := fmt.Sprintf("%.4g %s", median(o.subject), o.unit)
	if o.peer != nil {
		figures = fmt.Sprintf("%.4g / %.4g %s", median(o.subject), median(o.peer), o.unit)
	}
	low, high := o.interval()
	fmt.Fprintf(w, "%-72s %8.3g  [%.3g .. %.3g] of %d  %-9s %-8s %s\n",
		o.name, median(o.ratios), low, high, len(o.ratios), target, mark, figures)
}

// loop has workers do something over and over. It counts how often each did, and takes
// the time until the last was through. A worker ends at its first error.
func loop(ctx context.Context, d time.Duration, workers int, once func(ctx context.Context, worker int) error) (served []int, took time.Duration, err error) {
	served = make([]int, workers)
	errs := make([]error, workers)
	begin := clock.Mono()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for clock.Mono()-begin < int64(d) && ctx.Err() == nil {
				if errs[w] = once(ctx, w); errs[w] != nil {
					return
				}
				served[w]++
			}
		})
	}
	wg.Wait()
	return served, time.Duration(clock.Mono() - begin), errors.Join(append(errs, ctx.Err())...)
}

// rate is how often per second workers together do something once.
func rate(workers int, once func(ctx context.Context, worker int) error) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		served, took, err := loop(ctx, d, workers, once)
		return float64(sum(served)) / took.Seconds(), err
	}
}

func sum(all []int) (n int) {
	for _, i := range all {
		n += i
	}
	return n
}

// pair acquires and releases.
func pair(ctx context.Context, l locks.Locker, resource string) error {
	lease, err := l.Acquire(ctx, resource)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

// acquire times Acquire alone; the release is outside of it.
func acquire(ctx context.Context, l locks.Locker, resource string) (time.Duration, error) {
	begin := clock.Mono()
	lease, err := l.Acquire(ctx, resource)
	took := since(begin)
	if err != nil {
		return 0, err
	}
	return took, lease.Release(ctx)
}

// timed is the median, in microseconds, of what something says that it took.
func timed(once func(ctx context.Context) (time.Duration, error)) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var all []float64
		for end := clock.Mono() + int64(d); clock.Mono() < end || len(all) == 0; {
			took, err := once(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return 0, err
			}
			all = append(all, micros(took))
		}
		return median(all), nil
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func since(begin int64) time.Duration { return time.Duration(clock.Mono() - begin) }
