package plots

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Percentiles draws the distribution of the latency: the axis of 1/(1-q) gives
// the rare slow requests as much room as the common fast ones.
func Percentiles(scenario string, lines []Line, scale Scale) []byte {
	p := newPlot()
	deepest := 10.0
	for _, l := range lines {
		if n := len(l.Series.Quantiles); n > 0 {
			deepest = max(deepest, 1/(1-l.Series.Quantiles[n-1].Q))
		}
	}
	p.X.Min, p.X.Max = 0, math.Log10(deepest) // 1/(1-q) is 1 for the fastest
	p.X.Tick.Marker = percentTicks(p.X.Max)
	p.X.Label.Text = "percentile of the requests"
	p.Y.Min, p.Y.Max = math.Log10(scale.LatencyLow), math.Log10(scale.LatencyHigh)
	var ticks []plot.Tick
	for _, ms := range scale.decades() {
		ticks = append(ticks, plot.Tick{Value: math.Log10(ms), Label: number(ms)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Width, p.Y.Tick.Length = 0, 0
	p.Add(drawer(func(c draw.Canvas, p *plot.Plot) {
		var grid vg.Path
		for _, t := range ticks {
			y := c.Y(p.Y.Norm(t.Value))
			grid.Move(vg.Point{X: c.Min.X, Y: y})
			grid.Line(vg.Point{X: c.Max.X, Y: y})
		}
		c.SetColor(inkGrid)
		c.SetLineWidth(1)
		c.Stroke(grid)
		var ends []end
		for i, l := range lines {
			var path vg.Path
			for j, q := range l.Series.Quantiles {
				at := vg.Point{X: c.X(p.X.Norm(-math.Log10(1 - q.Q))), Y: c.Y(p.Y.Norm(math.Log10(max(q.MS, scale.LatencyLow))))}
				if j == 0 {
					path.Move(at)
				}
				path.Line(at)
			}
			if len(path) == 0 {
				continue
			}
			c.SetColor(l.Ink)
			c.SetLineWidth(1.8)
			c.SetLineDash(dashes(i), 0)
			c.Stroke(path)
			ends = append(ends, end{l, path[len(path)-1].Pos})
		}
		labels(c, ends)
	}))
	return render(p, 250, 112, percentileLabel(scenario, lines))
}

func percentTicks(high float64) plot.ConstantTicks {
	var ticks []plot.Tick
	for _, t := range []struct {
		inverse float64
		label   string
	}{{1, "0"}, {2, "50"}, {10, "90"}, {100, "99"}, {1e3, "99.9"}, {1e4, "99.99"}, {1e5, "99.999"}, {1e6, "99.9999"}} {
		if at := math.Log10(t.inverse); at <= high+0.001 {
			ticks = append(ticks, plot.Tick{Value: at, Label: t.label})
		}
	}
	return ticks
}

// dashes tell lines apart without their colour.
func dashes(i int) []vg.Length {
	return [][]vg.Length{nil, {6, 2.5}, {2, 2}, {8, 2, 2, 2}}[i%4]
}

// end is where a line ends and its label begins.
type end struct {
	line Line
	at   vg.Point
}

// labels writes the names beside the ends of the lines, moved apart where they
// would overlap, each with a thin line to its end.
func labels(c draw.Canvas, ends []end) {
	const gap = 15
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at.Y, b.at.Y) })
	heights := make([]vg.Length, len(ends))
	for i, e := range ends { // from below, each at least a gap above the last
		heights[i] = e.at.Y
		if i > 0 {
			heights[i] = max(heights[i], heights[i-1]+gap)
		}
	}
	for i, ceiling := len(ends)-1, c.Max.Y; i >= 0; i, ceiling = i-1, heights[i]-gap {
		heights[i] = min(heights[i], ceiling)
	}
	out := onCanvas(c.Canvas)
	for i, e := range ends {
		at := vg.Point{X: c.Max.X + 12, Y: heights[i]}
		c.SetColor(e.line.Ink)
		c.SetLineWidth(0.7)
		c.SetLineDash(nil, 0)
		c.StrokeLine2(draw.LineStyle{Color: e.line.Ink, Width: 0.7}, e.at.X+2, e.at.Y, at.X-2, at.Y)
		out.text(at, clip(e.line.Name, 13), "", 0.35, "name "+string(e.line.Ink))
	}
}

func percentileLabel(scenario string, lines []Line) string {
	parts := make([]string, 0, len(lines))
	for _, l := range lines {
		if n := len(l.Series.Quantiles); n > 0 {
			parts = append(parts, l.Name+" up to "+number(math.Round(l.Series.Quantiles[n-1].MS*10)/10)+" ms")
		}
	}
	return "Distribution of the latency under " + scenario + ": " + strings.Join(parts, "; ") + "."
}
