package series

import (
	"math"
	"slices"
)

// Collector sorts operations into the bins of a run as they come, in any order.
type Collector struct {
	BinMS float64 // 100, or a multiple of it in long runs

	durationMS float64
	repeats    int
	bins       []Bin
	latencies  [][]float64 // by bin
	fresh      []bool      // by bin: its quantiles are those of its latencies
}

// NewCollector makes the bins of a run of so many milliseconds; rates are means over the
// repeats.
func NewCollector(durationMS float64, repeats int) *Collector {
	c := &Collector{BinMS: binWidth(durationMS), durationMS: durationMS, repeats: repeats}
	n := int(math.Ceil(durationMS / c.BinMS))
	if n <= 0 || repeats <= 0 {
		return c
	}
	c.bins, c.latencies, c.fresh = make([]Bin, n), make([][]float64, n), make([]bool, n)
	for i := range c.bins {
		c.bins[i].AtMS = float64(i) * c.BinMS
	}
	return c
}

func (c *Collector) index(atMS float64) (int, bool) {
	i := math.Floor(atMS / c.BinMS)
	return int(i), i >= 0 && i < float64(len(c.bins))
}

// perS is what one operation adds to the rate of a bin.
func (c *Collector) perS(i int) float64 {
	width := min(c.BinMS, c.durationMS-float64(i)*c.BinMS) // the last bin may be short
	return 1000 / width / float64(c.repeats)
}

// Add counts an operation where it ended, and its latency where it was due.
func (c *Collector) Add(o Op) {
	if i, in := c.index(o.EndMS); in {
		rate := &c.bins[i].OtherPerS
		if o.OK {
			rate = &c.bins[i].OKPerS
		}
		*rate += c.perS(i) * float64(max(o.Count, 1))
	}
	if i, in := c.index(o.DueMS); in && o.OK {
		c.latencies[i] = append(c.latencies[i], o.EndMS-o.DueMS)
		c.fresh[i] = false
	}
}

// Violation counts one that began then.
func (c *Collector) Violation(atMS float64) {
	if i, in := c.index(atMS); in {
		c.bins[i].Violations++
	}
}

// Bins are all of the run, those to come empty. They change with what is added.
func (c *Collector) Bins() []Bin {
	for i := range c.bins {
		if !c.fresh[i] {
			slices.Sort(c.latencies[i])
			c.bins[i].P50MS, c.bins[i].P99MS = rank(c.latencies[i], 0.50), rank(c.latencies[i], 0.99)
			c.fresh[i] = true
		}
	}
	return c.bins
}
