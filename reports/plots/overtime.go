package plots

import (
	"math"
	"slices"

	"locklab/reports/lang"
	"locklab/reports/series"
)

// Scale has the limits of the axes. Figures of one kind share it, so that scenarios can be compared.
type Scale struct {
	RateMax     float64 // per second; higher values are cut off
	LatencyLow  float64 // ms
	LatencyHigh float64 // ms
}

// ScaleOf fits the axes to all lines of a report.
func ScaleOf(all []Line) Scale {
	var rates []float64
	low, high, offered := math.Inf(1), 0.0, 0.0
	for _, l := range all {
		for _, o := range l.Offered {
			offered = max(offered, o.PerS)
		}
		for _, b := range l.Series.Bins {
			rates = append(rates, b.OKPerS+b.OtherPerS)
			if b.P50MS > 0 {
				low = min(low, b.P50MS)
			}
			if b.P99MS > 0 {
				high = max(high, b.P99MS)
			}
		}
	}
	s := Scale{LatencyLow: 1, LatencyHigh: 10}
	// After a stop all waiting requests are answered at once. An axis for such a burst would flatten everything else.
	slices.Sort(rates)
	if n := len(rates); n > 0 {
		s.RateMax = rates[n*95/100]
	}
	s.RateMax = roundUp(1.25*max(offered, s.RateMax), 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
	if high > 0 {
		half := func(v float64, round func(float64) float64) float64 { return math.Pow(10, round(2*math.Log10(v))/2) }
		s.LatencyLow = half(max(low, 0.001), math.Floor)
		s.LatencyHigh = max(half(high, math.Ceil), s.LatencyLow*10)
	}
	return s
}

// Rate draws operations per second over time: one strip for each lock, the fault
// shaded behind, failed operations on top of successful ones, and a mark below
// every bin in which a violation began.
func Rate(say *lang.Lang, scenario string, lines []Line, scale Scale) []byte {
	r := overTime(say, lines, 54, 9, []tick{{0, "0"}, {1, number(scale.RateMax)}})
	for i, l := range lines {
		ok := r.curve(i, l, scale.RateMax, func(b series.Bin) float64 { return b.OKPerS })
		if slices.ContainsFunc(l.Series.Bins, func(b series.Bin) bool { return b.OtherPerS > 0 }) {
			all := r.curve(i, l, scale.RateMax, func(b series.Bin) float64 { return b.OKPerS + b.OtherPerS })
			below := slices.Clone(ok)
			slices.Reverse(below)
			r.fill(inkBad, append(all, below...)...)
		}
		if n := len(ok); n > 0 {
			floor := r.level(i, 0)
			r.fill(l.Ink+" soft", append(slices.Clone(ok), point{ok[n-1].x, floor}, point{ok[0].x, floor})...)
			r.stroke(pen{l.Ink, 1.2, ""}, ok)
		}
		r.stroke(pen{inkQuiet, 1, "2 3"}, r.offered(i, l, scale.RateMax))
		var marks [][]point
		for _, b := range l.Series.Bins {
			if b.Violations > 0 {
				x := r.middle(l, b)
				marks = append(marks, []point{{x, r.place(i, 0.01)}, {x, r.place(i, 0.13)}})
			}
		}
		r.stroke(pen{inkMark, 1.6, ""}, marks...)
	}
	return r.named(say.Text("Served over time"), scenario)
}

// Offer adds a rate, at the beginning of the measured part at the earliest.
func Offer(all []Offered, atMS, perS float64) []Offered {
	atMS = max(atMS, 0)
	all = slices.DeleteFunc(all, func(o Offered) bool { return o.FromMS == atMS })
	return append(all, Offered{FromMS: atMS, PerS: perS})
}

// offered is the line of the load, in steps.
func (r rows) offered(i int, l Line, high float64) (line []point) {
	for j, o := range l.Offered {
		until := rightEdge
		if j+1 < len(l.Offered) {
			until = min(r.x(l.Offered[j+1].FromMS/1000), rightEdge)
		}
		if y := r.level(i, min(o.PerS/high, 1.04)); o.PerS > 0 {
			line = append(line, point{min(r.x(o.FromMS/1000), rightEdge), y}, point{until, y})
		}
	}
	return line
}

// curve is the line of the bins' values, in steps.
func (r rows) curve(i int, l Line, high float64, value func(series.Bin) float64) []point {
	var points []point
	for j, b := range l.Series.Bins {
		y := r.level(i, min(value(b)/high, 1.04))
		points = append(points, point{r.x(b.AtMS / 1000), y})
		if j == len(l.Series.Bins)-1 {
			points = append(points, point{min(r.x((b.AtMS+l.Series.BinMS)/1000), rightEdge), y})
		}
	}
	return points
}

func (r rows) middle(l Line, b series.Bin) float64 { return r.x((b.AtMS + l.Series.BinMS/2) / 1000) }

// Latency draws the median and the 99th percentile of the latency on a logarithmic axis, over the time when
// operations were due.
func Latency(say *lang.Lang, scenario string, lines []Line, scale Scale) []byte {
	low, span := math.Log10(scale.LatencyLow), math.Log10(scale.LatencyHigh/scale.LatencyLow)
	share := func(ms float64) float64 { return (math.Log10(max(ms, scale.LatencyLow)) - low) / span }
	every := int(span+3) / 3 // a strip has room for three labels on a phone
	var levels []tick
	for power := math.Ceil(low - 0.001); power <= low+span+0.001; power++ {
		ms := math.Pow(10, power)
		level := tick{at: share(ms)}
		if len(levels)%every == 0 {
			level.label = number(ms)
		}
		levels = append(levels, level)
	}
	r := overTime(say, lines, 76, 4, levels)
	for i, l := range lines {
		r.trace(i, l, pen{l.Ink, 1.4, ""}, func(b series.Bin) float64 { return share(b.P99MS) })
		r.trace(i, l, pen{l.Ink, 1.2, "1.5 2"}, func(b series.Bin) float64 { return share(b.P50MS) })
	}
	return r.named(say.Text("Latency over time"), scenario)
}

// trace joins bins that have a value, and breaks where there is none. A single bin becomes a visible dash.
func (r rows) trace(i int, l Line, p pen, share func(series.Bin) float64) {
	dash := max(r.x(l.Series.BinMS/1000)-r.x(0), 3)
	var pieces [][]point
	down := false
	for _, b := range l.Series.Bins {
		v := share(b)
		if math.IsNaN(v) {
			down = false
			continue
		}
		if !down {
			pieces, down = append(pieces, nil), true
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, point{r.middle(l, b), r.level(i, v)})
	}
	for i, piece := range pieces {
		if len(piece) == 1 {
			at := piece[0]
			pieces[i] = []point{{at.x - dash/2, at.y}, {at.x + dash/2, at.y}}
		}
	}
	r.stroke(p, pieces...)
}
