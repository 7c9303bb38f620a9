package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/series"
)

// Scale is what figures of the same kind share, so that they can be compared
// across scenarios.
type Scale struct {
	RateMax       float64 // per second; what is above is cut off
	LatencyLow    float64 // ms
	LatencyHigh   float64 // ms
	DuplicatesMax int64
}

// ScaleOf fits the axes to all lines of a report.
func ScaleOf(all []Line) Scale {
	var rates []float64
	low, high, offered := math.Inf(1), 0.0, 0.0
	for _, l := range all {
		offered = max(offered, l.OfferedPerS)
		for _, b := range l.Series.Bins {
			rates = append(rates, b.OKPerS+b.OtherPerS)
			if b.P50MS > 0 {
				low = min(low, b.P50MS)
			}
			if b.P99MS > 0 {
				high = max(high, b.P99MS)
			}
		}
		for _, q := range l.Series.Quantiles {
			if q.Q >= 0.5 && q.MS > 0 {
				low, high = min(low, q.MS), max(high, q.MS)
			}
		}
	}
	s := Scale{LatencyLow: 1, LatencyHigh: 10}
	// After a stop all that had to wait is answered at once. An axis that shows
	// such a burst in full would flatten everything else.
	slices.Sort(rates)
	if n := len(rates); n > 0 {
		s.RateMax = rates[n*95/100]
	}
	s.RateMax = niceTop(1.25 * max(offered, s.RateMax))
	if high > 0 {
		half := func(v float64, round func(float64) float64) float64 { return math.Pow(10, round(2*math.Log10(v))/2) }
		s.LatencyLow = half(max(low, 0.001), math.Floor)
		s.LatencyHigh = max(half(high, math.Ceil), s.LatencyLow*10)
	}
	return s
}

// decades are the powers of ten within the range of the latencies.
func (s Scale) decades() []float64 {
	var all []float64
	for e := math.Ceil(math.Log10(s.LatencyLow) - 0.001); e <= math.Log10(s.LatencyHigh)+0.001; e++ {
		all = append(all, math.Pow(10, e))
	}
	return all
}

// Rate draws what was achieved over time: one strip for each lock, the fault
// shaded behind, failed operations on top of those that ended well, and a mark
// below for every bin in which a judged violation began.
func Rate(scenario string, lines []Line, scale Scale) []byte {
	r := newRows(lines, rateRow, 9)
	timeAxis(r.p, longest(lines))
	faults(r.p, windowsOf(lines))
	r.ticks([]float64{0, 1}, []string{"0", number(scale.RateMax)})
	r.p.Add(drawer(func(c draw.Canvas, _ *plot.Plot) {
		for i, l := range lines {
			if hasOther(l.Series) {
				r.failures(c, i, l, scale.RateMax)
			}
			r.area(c, i, l, scale.RateMax)
			r.offered(c, i, l, scale.RateMax)
			r.marks(c, i, l)
		}
	}))
	r.names(func(l Line) string { return rateNote(l.Series) })
	return r.render(rateRow, rateLabel(scenario, lines))
}

// curve goes along the values of the bins, in steps.
func (r rows) curve(c draw.Canvas, i int, l Line, high float64, value func(series.Bin) float64) []vg.Point {
	points := make([]vg.Point, 0, 1+len(l.Series.Bins))
	for j, b := range l.Series.Bins {
		y := c.Y(r.p.Y.Norm(r.level(i, min(value(b)/high, 1.04))))
		points = append(points, vg.Point{X: c.X(r.p.X.Norm(b.AtMS / 1000)), Y: y})
		if j == len(l.Series.Bins)-1 {
			end := min(r.p.X.Norm((b.AtMS+l.Series.BinMS)/1000), 1)
			points = append(points, vg.Point{X: c.X(end), Y: y})
		}
	}
	return points
}

func okPerS(b series.Bin) float64  { return b.OKPerS }
func allPerS(b series.Bin) float64 { return b.OKPerS + b.OtherPerS }

// area fills below what ended well.
func (r rows) area(c draw.Canvas, i int, l Line, high float64) {
	top := r.curve(c, i, l, high, okPerS)
	if len(top) == 0 {
		return
	}
	floor := c.Y(r.p.Y.Norm(r.level(i, 0)))
	shape := append(slices.Clone(top), vg.Point{X: top[len(top)-1].X, Y: floor}, vg.Point{X: top[0].X, Y: floor})
	c.FillPolygon(l.Ink+" soft", shape)
	c.StrokeLines(draw.LineStyle{Color: l.Ink, Width: 1.2}, top)
}

// failures fills between what ended well and all that ended.
func (r rows) failures(c draw.Canvas, i int, l Line, high float64) {
	shape := r.curve(c, i, l, high, allPerS)
	below := r.curve(c, i, l, high, okPerS)
	slices.Reverse(below)
	c.FillPolygon(inkBad, append(shape, below...))
}

// offered is a line at the rate that the schedule asked for.
func (r rows) offered(c draw.Canvas, i int, l Line, high float64) {
	if !(l.OfferedPerS > 0) || l.OfferedPerS > high {
		return
	}
	y := c.Y(r.p.Y.Norm(r.level(i, l.OfferedPerS/high)))
	c.StrokeLine2(draw.LineStyle{Color: inkQuiet, Width: 1, Dashes: []vg.Length{2, 3}}, c.Min.X, y, c.Max.X, y)
}

// marks are short bars below the strip, one for each bin with judged violations.
func (r rows) marks(c draw.Canvas, i int, l Line) {
	low, high := c.Y(r.p.Y.Norm(r.base(i)+0.01)), c.Y(r.p.Y.Norm(r.base(i)+0.13))
	var path vg.Path
	for _, b := range l.Series.Bins {
		if b.Violations > 0 {
			x := c.X(r.p.X.Norm((b.AtMS + l.Series.BinMS/2) / 1000))
			path.Move(vg.Point{X: x, Y: low})
			path.Line(vg.Point{X: x, Y: high})
		}
	}
	c.SetColor(inkMark)
	c.SetLineWidth(1.6)
	c.SetLineDash(nil, 0)
	c.Stroke(path)
}

// Latency draws the median and the 99th percentile of the latency over time on a
// logarithmic axis, by the moment when the operations were due.
func Latency(scenario string, lines []Line, scale Scale) []byte {
	r := newRows(lines, latencyRow, 4)
	timeAxis(r.p, longest(lines))
	faults(r.p, windowsOf(lines))
	low, span := math.Log10(scale.LatencyLow), math.Log10(scale.LatencyHigh/scale.LatencyLow)
	share := func(ms float64) float64 { return (math.Log10(max(ms, scale.LatencyLow)) - low) / span }
	decades := scale.decades()
	every := (len(decades) + 2) / 3 // a strip has room for three labels on a phone
	var shares []float64
	var labels []string
	for i, ms := range decades {
		shares = append(shares, share(ms))
		if i%every == 0 {
			labels = append(labels, number(ms))
		} else {
			labels = append(labels, "") // a line without a label
		}
	}
	r.ticks(shares, labels)
	r.p.Add(drawer(func(c draw.Canvas, _ *plot.Plot) {
		for i, l := range lines {
			r.line(c, i, l, func(b series.Bin) float64 { return share(b.P99MS) }, nil, 1.4)
			r.line(c, i, l, func(b series.Bin) float64 { return share(b.P50MS) }, []vg.Length{1.5, 2}, 1.2)
		}
	}))
	r.names(func(l Line) string { return latencyNote(l.Series) })
	return r.render(latencyRow, latencyLabel(scenario, lines))
}

// line joins the bins that have a value; it breaks where there is none.
func (r rows) line(c draw.Canvas, i int, l Line, share func(series.Bin) float64, dashes []vg.Length, width vg.Length) {
	var path vg.Path
	down := false
	for _, b := range l.Series.Bins {
		v := share(b)
		if math.IsNaN(v) {
			down = false
			continue
		}
		at := vg.Point{X: c.X(r.p.X.Norm((b.AtMS + l.Series.BinMS/2) / 1000)), Y: c.Y(r.p.Y.Norm(r.level(i, v)))}
		if down {
			path.Line(at)
		} else {
			path.Move(at)
			path.Line(at) // a bin between two gaps shows as a dot
		}
		down = true
	}
	c.SetColor(l.Ink)
	c.SetLineWidth(width)
	c.SetLineDash(dashes, 0)
	c.Stroke(path)
}

func longest(lines []Line) float64 {
	ms := 0.0
	for _, l := range lines {
		ms = max(ms, l.Series.DurationMS)
	}
	return ms
}

// windowsOf takes the faults of the first lock that has any: all locks of a
// scenario live through the same timeline.
func windowsOf(lines []Line) []series.Window {
	for _, l := range lines {
		if len(l.Series.Faults) > 0 {
			return l.Series.Faults
		}
	}
	return nil
}

func hasOther(s series.Series) bool {
	for _, b := range s.Bins {
		if b.OtherPerS > 0 {
			return true
		}
	}
	return false
}

// number writes an axis label: 0.1, 1, 2,500, 10k.
func number(v float64) string {
	switch {
	case v >= 10000:
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	case v >= 1000:
		whole := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
		return whole[:len(whole)-3] + "," + whole[len(whole)-3:]
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// rateNote names the longest time without any success.
func rateNote(s series.Series) string {
	if stop := longestStop(s); stop >= 500 {
		return fmt.Sprintf("nothing for %.1f s", stop/1000)
	}
	return ""
}

func longestStop(s series.Series) float64 {
	run, best := 0.0, 0.0
	for _, b := range s.Bins {
		if b.OKPerS > 0 {
			run = 0
			continue
		}
		run += s.BinMS
		best = max(best, run)
	}
	return best
}

func latencyNote(s series.Series) string {
	high := 0.0
	for _, b := range s.Bins {
		if b.P99MS > high {
			high = b.P99MS
		}
	}
	switch {
	case high <= 0:
		return ""
	case high >= 1000:
		return fmt.Sprintf("p99 up to %.1f s", high/1000)
	default:
		return "p99 up to " + number(math.Round(high*10)/10) + " ms"
	}
}

func rateLabel(scenario string, lines []Line) string {
	parts := make([]string, 0, len(lines))
	for _, l := range lines {
		part := l.Name + ": "
		if stop := longestStop(l.Series); stop >= 500 {
			part += fmt.Sprintf("none for up to %.1f seconds", stop/1000)
		} else {
			part += "no stop of half a second or more"
		}
		parts = append(parts, part)
	}
	return "Achieved rate over time under " + scenario + ". " + strings.Join(parts, "; ") + "."
}

func latencyLabel(scenario string, lines []Line) string {
	parts := make([]string, 0, len(lines))
	for _, l := range lines {
		if note := latencyNote(l.Series); note != "" {
			parts = append(parts, l.Name+": "+note)
		}
	}
	return "Latency over time under " + scenario + ". " + strings.Join(parts, "; ") + "."
}
