package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
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
	unit string
	// start makes the two subjects ready. peer is nil for a figure that stands for
	// itself; then the row shows subject instead of a ratio. stop frees everything,
	// and is called also when err is nil only.
	start func(ctx context.Context) (subject, peer measurement, stop func(), err error)
}

// outcome is a measured row.
type outcome struct {
	row             row
	subject, peer   []float64
	ratios          []float64
	median, lo, hi  float64
	reached         bool
	subjectM, peerM float64
}

// measure runs subject and peer in turn, changing who goes first.
func measure(ctx context.Context, r row, rounds int, each time.Duration) (outcome, error) {
	out := outcome{row: r}
	subject, peer, stop, err := r.start(ctx)
	if err != nil {
		return out, fmt.Errorf("start %q: %w", r.name, err)
	}
	defer stop()
	for i := range rounds + 1 { // the first round warms up and is not counted
		s, p, err := turn(ctx, subject, peer, each, i%2 == 1)
		if err != nil {
			return out, fmt.Errorf("measure %q: %w", r.name, err)
		}
		if i == 0 {
			continue
		}
		out.subject = append(out.subject, s)
		ratio := s
		if peer != nil {
			out.peer = append(out.peer, p)
			if p == 0 {
				return out, fmt.Errorf("measure %q: the peer's figure is zero", r.name)
			}
			ratio = s / p
		}
		out.ratios = append(out.ratios, ratio)
	}
	out.subjectM, out.peerM = median(out.subject), median(out.peer)
	out.median, out.lo, out.hi = median(out.ratios), slices.Min(out.ratios), slices.Max(out.ratios)
	out.reached = r.reach == 0 || (r.atMost && out.median <= r.reach) || (!r.atMost && out.median >= r.reach)
	return out, nil
}

func turn(ctx context.Context, subject, peer measurement, each time.Duration, peerFirst bool) (s, p float64, err error) {
	first := func() error { s, err = subject(ctx, each); return err }
	second := func() error {
		if peer != nil {
			p, err = peer(ctx, each)
		}
		return err
	}
	if peerFirst {
		first, second = second, first
	}
	if err := first(); err != nil {
		return 0, 0, err
	}
	return s, p, second()
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// print writes one line of the table.
func (o outcome) print(w io.Writer) {
	target, mark := "reported", " "
	if o.row.reach != 0 {
		sign := ">="
		if o.row.atMost {
			sign = "<="
		}
		target = fmt.Sprintf("%s %.4g", sign, o.row.reach)
		mark = "reached"
		if !o.reached {
			mark = "MISSED"
		}
	}
	figures := fmt.Sprintf("%.4g %s", o.subjectM, o.row.unit)
	if o.peer != nil {
		figures = fmt.Sprintf("%.4g / %.4g %s", o.subjectM, o.peerM, o.row.unit)
	}
	fmt.Fprintf(w, "%-72s %8.3g  [%.3g .. %.3g]  %-9s %-8s %s\n", o.row.name, o.median, o.lo, o.hi, target, mark, figures)
}
