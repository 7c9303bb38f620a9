package series

import (
	"math"
	"slices"
)

// Series is what the histories of one lock under one scenario show over time.
type Series struct {
	// Subject is what is counted: "matches", or "acquisitions" where the workload
	// is the lock itself.
	Subject    string
	Repeats    int
	DurationMS float64
	BinMS      float64 // 100, or a multiple of it in long runs
	Bins       []Bin
	Quantiles  []Quantile // of the latency, rising
	Faults     []Window
	Torn       bool // a history ended in the middle of a line: its writer was killed
}

// Bin is one piece of time.
type Bin struct {
	AtMS       float64 // its beginning
	OKPerS     float64 // operations that ended well in it
	OtherPerS  float64 // operations that ended otherwise in it
	GrantsPerS float64 // acquisitions of the lock that ended well in it
	// P50MS, P99MS and Availability are those of the operations that were due in
	// it; NaN if none was.
	P50MS, P99MS float64
	Availability float64
	Violations   int // that the judge counts, begun in it
}

// Quantile is one point of the distribution of the latency.
type Quantile struct{ Q, MS float64 }

// Window is the time during which a fault lasted.
type Window struct {
	Kind, Target string
	FromMS, ToMS float64
	Proven       bool // by probes; otherwise the times are those when it was asked for
}

// maxBins bounds what is kept and drawn of a long run.
const maxBins = 300

// op is one finished operation.
type op struct {
	dueMS, endMS float64
	ok           bool
}

func binWidth(durationMS float64) float64 {
	const width = 100
	return width * max(1, math.Ceil(durationMS/width/maxBins))
}

// bins sorts the operations into bins. Rates are means over the repeats.
func bins(durationMS float64, repeats int, ops []op, grants, violations []float64) (binMS float64, out []Bin) {
	binMS = binWidth(durationMS)
	n := int(math.Ceil(durationMS / binMS))
	if n <= 0 || repeats <= 0 {
		return binMS, nil
	}
	out = make([]Bin, n)
	index := func(atMS float64) (int, bool) {
		i := math.Floor(atMS / binMS)
		return int(i), i >= 0 && i < float64(n)
	}
	latencies := make([][]float64, n)
	due, ok := make([]int, n), make([]int, n)
	perS := func(i int) float64 { // what one operation adds to the rate of a bin
		width := min(binMS, durationMS-float64(i)*binMS) // the last bin may be short
		return 1000 / width / float64(repeats)
	}
	for _, o := range ops {
		if i, in := index(o.endMS); in {
			if o.ok {
				out[i].OKPerS += perS(i)
			} else {
				out[i].OtherPerS += perS(i)
			}
		}
		if i, in := index(o.dueMS); in {
			due[i]++
			if o.ok {
				ok[i]++
				latencies[i] = append(latencies[i], o.endMS-o.dueMS)
			}
		}
	}
	for _, at := range grants {
		if i, in := index(at); in {
			out[i].GrantsPerS += perS(i)
		}
	}
	for _, at := range violations {
		if i, in := index(at); in {
			out[i].Violations++
		}
	}
	for i := range out {
		out[i].AtMS = float64(i) * binMS
		slices.Sort(latencies[i])
		out[i].P50MS, out[i].P99MS = rank(latencies[i], 0.50), rank(latencies[i], 0.99)
		out[i].Availability = math.NaN()
		if due[i] > 0 {
			out[i].Availability = float64(ok[i]) / float64(due[i])
		}
	}
	return binMS, out
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
