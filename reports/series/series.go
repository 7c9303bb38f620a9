// Package series sorts the operations of histories into bins of 100 ms, for plots of rates and latencies
// over time, and explains violations and outages as scenes. It judges nothing: outcomes and violations
// come from the checkers.
//
// Times are milliseconds since the measured part of the run began. Rates are means over repeats, latencies are
// pooled.
package series

import (
	"math"
	"slices"

	"locklab/workloads/check/record"
)

// Op is one finished operation.
type Op struct {
	DueMS, EndMS float64
	OK           bool
	Count        uint64 // operations that it stands for; 0 is one
}

// Series is the rate and the latency of one lock under one scenario over time.
type Series struct {
	Repeats    int
	DurationMS float64
	BinMS      float64 // 100, or a multiple of it in long runs
	Bins       []Bin
	Faults     []Window // by their beginning
}

// Bin is one piece of time.
type Bin struct {
	AtMS         float64 // its beginning
	OKPerS       float64 // operations that ended well in it
	OtherPerS    float64 // operations that ended otherwise in it
	P50MS, P99MS float64 // of the operations that were due in it; NaN if none was
	Violations   int     // begun in it
}

// Window is the time during which a fault lasted.
type Window struct {
	Kind         string
	FromMS, ToMS float64
	Proven       bool
}

// Collector sorts operations, which may come in any order, into the bins of a run.
type Collector struct {
	durationMS, binMS float64
	runs              int
	bins              []bin
}

// bin is a Bin that is being filled.
type bin struct {
	ok, other, violations int
	latencies             []float64 // of the operations that were due in it, and ended well
	sorted                bool
}

// NewCollector makes bins for runs of this duration.
func NewCollector(durationMS float64) *Collector {
	const width, most = 100, 300 // ms; bins that are kept and drawn
	c := &Collector{durationMS: durationMS, binMS: width * max(1, math.Ceil(durationMS/width/most))}
	c.bins = make([]bin, max(int(math.Ceil(durationMS/c.binMS)), 0))
	return c
}

// bin is the bin of a time; nil outside of all.
func (c *Collector) bin(atMS float64) *bin {
	if i := math.Floor(atMS / c.binMS); i >= 0 && i < float64(len(c.bins)) {
		return &c.bins[int(i)]
	}
	return nil
}

// Add counts an operation where it ended, and its latency where it was due.
func (c *Collector) Add(o Op) {
	if b := c.bin(o.EndMS); b != nil {
		n := max(int(o.Count), 1) //nolint:gosec // of one batch
		if o.OK {
			b.ok += n
		} else {
			b.other += n
		}
	}
	if b := c.bin(o.DueMS); b != nil && o.OK {
		b.latencies, b.sorted = append(b.latencies, o.EndMS-o.DueMS), false
	}
}

// AddRun adds the requests of players, or in raw workloads the acquisitions, and the moments of
// violations. An operation that its caller called off does not count.
func (c *Collector) AddRun(run *record.Run, violationsMS []float64) {
	c.runs++
	add := func(o *record.Op) {
		if o.Outcome != record.CalledOff {
			at := func(ns int64) float64 { return float64(ns-run.Measure) / 1e6 }
			c.Add(Op{at(o.From), at(o.At), o.Outcome == record.OK, uint64(o.Count)})
		}
	}
	for i := range run.Requests {
		add(&run.Requests[i].Op)
	}
	if len(run.Requests) == 0 {
		for _, a := range run.Acquires {
			add(&a.Op)
		}
	}
	for _, at := range violationsMS {
		if b := c.bin(at); b != nil {
			b.violations++
		}
	}
}

// Double doubles the duration, and the width of the bins.
func (c *Collector) Double() {
	wide := make([]bin, len(c.bins))
	for i, b := range c.bins {
		w := &wide[i/2]
		w.ok, w.other, w.violations = w.ok+b.ok, w.other+b.other, w.violations+b.violations
		w.latencies = append(w.latencies, b.latencies...)
	}
	c.bins, c.binMS, c.durationMS = wide, 2*c.binMS, 2*c.durationMS
}

// Series returns all bins, future ones empty. Rates are means over the runs.
func (c *Collector) Series() Series {
	s := Series{Repeats: c.runs, DurationMS: c.durationMS, BinMS: c.binMS}
	for i := range c.bins {
		b := &c.bins[i]
		if !b.sorted {
			slices.Sort(b.latencies)
			b.sorted = true
		}
		at := float64(i) * c.binMS
		perS := 1000 / min(c.binMS, c.durationMS-at) / float64(max(c.runs, 1)) // the last bin may be short
		s.Bins = append(s.Bins, Bin{
			at, float64(b.ok) * perS, float64(b.other) * perS, rank(b.latencies, 0.50),
			rank(b.latencies, 0.99), b.violations,
		})
	}
	return s
}

// rank is the smallest value that is at least as large as the share q of sorted.
func rank(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
