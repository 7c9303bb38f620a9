// Package series turns the operations of histories into what is drawn over time: rates
// and latencies in bins of 100 ms. It serves plots only, and reads no history itself: what
// an operation is, how it ended, and what was violated, the checkers say.
//
// Times are milliseconds since the measured part of the run began. The repeats are laid
// over each other: rates are means, latencies pooled.
package series

import (
	"math"
	"slices"
)

// Op is one finished operation.
type Op struct {
	DueMS, EndMS float64
	OK           bool
	Count        uint64 // operations that it stands for; 0 is one
}

// History is the operations of one history, before and after the measured part too.
type History struct {
	Ops        []Op
	DurationMS float64 // of the part that was really measured
}

// Series is what the histories of one lock under one scenario show over time.
type Series struct {
	Repeats    int
	DurationMS float64
	BinMS      float64 // 100, or a multiple of it in long runs
	Bins       []Bin
	Quantiles  []Quantile // of the latency, rising
	Faults     []Window
}

// Bin is one piece of time.
type Bin struct {
	AtMS         float64 // its beginning
	OKPerS       float64 // operations that ended well in it
	OtherPerS    float64 // operations that ended otherwise in it
	P50MS, P99MS float64 // of the operations that were due in it; NaN if none was
	Violations   int     // begun in it
}

// Quantile is one point of the distribution of the latency.
type Quantile struct{ Q, MS float64 }

// Window is the time during which a fault lasted.
type Window struct {
	Kind, Target string
	FromMS, ToMS float64
	Proven       bool
}

// maxBins bounds what is kept and drawn of a long run.
const maxBins = 300

// Of lays the histories of all repeats over each other, and the moments of violations.
func Of(histories []History, violationsMS []float64) Series {
	s := Series{Repeats: len(histories)}
	var ops []Op
	for _, h := range histories {
		s.DurationMS = max(s.DurationMS, h.DurationMS)
		ops = append(ops, h.Ops...)
	}
	s.BinMS, s.Bins = bins(s.DurationMS, s.Repeats, ops, violationsMS)
	var latencies []float64
	for _, o := range ops {
		if o.OK && o.DueMS >= 0 && o.DueMS < s.DurationMS {
			latencies = append(latencies, o.EndMS-o.DueMS)
		}
	}
	s.Quantiles = quantiles(latencies)
	return s
}

func binWidth(durationMS float64) float64 {
	const width = 100
	return width * max(1, math.Ceil(durationMS/width/maxBins))
}

// bins sorts the operations into bins. Rates are means over the repeats.
func bins(durationMS float64, repeats int, ops []Op, violations []float64) (binMS float64, out []Bin) {
	c := NewCollector(durationMS, repeats)
	for _, o := range ops {
		c.Add(o)
	}
	for _, at := range violations {
		c.Violation(at)
	}
	return c.BinMS, c.Bins()
}

// rank is the smallest value that is at least as large as the share q of sorted.
func rank(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// quantiles are points of the distribution, evenly spaced on a logarithmic axis
// of 1/(1-q), up to the last quantile that the number of values supports.
func quantiles(values []float64) []Quantile {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	const perDecade = 16
	var out []Quantile
	for k := 0; ; k++ {
		inverse := math.Pow(10, float64(k)/perDecade)
		if inverse > float64(len(values)) {
			break
		}
		q := 1 - 1/inverse
		out = append(out, Quantile{Q: q, MS: rank(values, q)})
	}
	if last := 1 - 1/float64(len(values)); last > out[len(out)-1].Q {
		out = append(out, Quantile{Q: last, MS: values[len(values)-1]})
	}
	return out
}
