package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/series"
)

// Line is one lock in a figure.
type Line struct {
	Name        string
	Ink         Ink
	OfferedPerS float64 // 0 if nothing was offered at a rate
	Series      series.Series
}

// The layout, in units of the SVG. A figure is about as wide as half a desktop
// page; on a phone the style sheet enlarges the text.
const (
	figureWidth = 520.0
	rateRow     = 54.0
	latencyRow  = 76.0
	leftMargin  = 46.0 // for the labels of the vertical axis
	rightMargin = 10.0
	axisHeight  = 46.0 // for the horizontal axis and its label
	topMargin   = 4.0
)

// newPlot is an empty plot without the defaults that the style sheet decides.
func newPlot() *plot.Plot {
	p := plot.New()
	handler := writer{text.Plain{Fonts: font.DefaultCache}}
	p.TextHandler = handler
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color = inkAxis
		axis.Width = 1
		axis.Tick.Color = inkAxis
		axis.Tick.Width = 1
		axis.Tick.Length = 4
		axis.Padding = 0
		axis.Tick.Label.Handler = handler
		axis.Tick.Label.Color = inkText
		axis.Label.TextStyle.Handler = handler
		axis.Label.TextStyle.Color = inkText
		axis.Label.Padding = 5 // a phone's larger text must not run into the ticks' labels
	}
	return p
}

// drawer is a plotter made of a function.
type drawer func(c draw.Canvas, p *plot.Plot)

func (d drawer) Plot(c draw.Canvas, p *plot.Plot) { d(c, p) }

// render draws p so that its data area has fixed margins, the same in all
// figures, whatever the labels are.
func render(p *plot.Plot, height, right float64, label string) []byte {
	c := newCanvas(figureWidth, height)
	area := draw.NewCanvas(c, vg.Length(figureWidth), vg.Length(height))
	data := p.DataCanvas(area)
	area = draw.Crop(area, vg.Length(leftMargin)-(data.Min.X-area.Min.X), -vg.Length(right)+(area.Max.X-data.Max.X),
		vg.Length(axisHeight)-(data.Min.Y-area.Min.Y), -vg.Length(topMargin)+(area.Max.Y-data.Max.Y))
	p.Draw(area)
	return c.svg(label)
}

// rows is a figure with one strip for each lock, one below the other, over the
// same horizontal axis. Inside a strip 0 is its floor and 1 its ceiling; above the
// ceiling is the name.
type rows struct {
	p              *plot.Plot
	lines          []Line
	floor, ceiling float64 // of the strip within its row of height 1
}

// newRows makes rows of the given height, in units of the SVG. Below is what is
// kept free under a strip, for marks.
func newRows(lines []Line, height, below float64) rows {
	p := newPlot()
	p.Y.Min, p.Y.Max = 0, float64(max(len(lines), 1))
	p.Y.Width = 0
	p.Y.Tick.Length = 0
	const name = 16 // room for the name above
	return rows{p, lines, below / height, 1 - name/height}
}

// base is the lower edge of the i-th strip; the first is on top.
func (r rows) base(i int) float64 { return float64(len(r.lines) - 1 - i) }

// level is where a share of 0 to 1 is in the i-th strip.
func (r rows) level(i int, share float64) float64 {
	return r.base(i) + r.floor + (r.ceiling-r.floor)*share
}

// ticks labels some shares in every strip and draws a line behind them.
func (r rows) ticks(shares []float64, labels []string) {
	var ticks []plot.Tick
	for i := range r.lines {
		for j, share := range shares {
			ticks = append(ticks, plot.Tick{Value: r.level(i, share), Label: labels[j]})
		}
	}
	r.p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	r.p.Add(drawer(func(c draw.Canvas, p *plot.Plot) {
		var path vg.Path
		for _, t := range ticks {
			y := c.Y(p.Y.Norm(t.Value))
			path.Move(vg.Point{X: c.Min.X, Y: y})
			path.Line(vg.Point{X: c.Max.X, Y: y})
		}
		c.SetColor(inkGrid)
		c.SetLineWidth(1)
		c.SetLineDash(nil, 0)
		c.Stroke(path)
	}))
}

// names writes the lock's name above each strip.
func (r rows) names(note func(Line) string) {
	r.p.Add(drawer(func(c draw.Canvas, p *plot.Plot) {
		for i, l := range r.lines {
			at := vg.Point{X: c.Min.X + 1, Y: c.Y(p.Y.Norm(r.base(i)+r.ceiling)) + 4}
			out := onCanvas(c.Canvas)
			out.text(at, clip(l.Name, 34), "", 0, "name "+string(l.Ink))
			if text := note(l); text != "" {
				out.text(vg.Point{X: c.Max.X - 1, Y: at.Y}, text, "end", 0, "")
			}
		}
	}))
}

func (r rows) render(rowHeight float64, label string) []byte {
	return render(r.p, topMargin+axisHeight+rowHeight*float64(max(len(r.lines), 1)), rightMargin, label)
}

// timeAxis is a horizontal axis in seconds.
func timeAxis(p *plot.Plot, durationMS float64) {
	p.X.Min, p.X.Max = 0, max(durationMS/1000, 0.001)
	p.X.Label.Text = "seconds since the measured part began"
	p.X.Tick.Marker = plot.ConstantTicks(steps(p.X.Max))
}

// steps are round numbers from 0 to high.
func steps(high float64) []plot.Tick {
	step := niceStep(high / 8)
	digits := max(0, -int(math.Floor(math.Log10(step))))
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= high*1.0001; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', digits, 64)})
	}
	return ticks
}

// niceStep rounds up to 1, 2 or 5 times a power of ten: the distance of ticks.
func niceStep(v float64) float64 { return roundUp(v, 1, 2, 5) }

// niceTop rounds up to a round number that is not much larger: the end of an axis.
func niceTop(v float64) float64 { return roundUp(v, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8) }

func roundUp(v float64, choices ...float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range choices {
		if v <= m*power*1.0001 {
			return m * power
		}
	}
	return 10 * power
}

// faults shades the time of each fault behind everything else, where they
// overlap only once.
func faults(p *plot.Plot, windows []series.Window) {
	merged := mergeWindows(windows, p.X.Max*1000)
	p.Add(drawer(func(c draw.Canvas, p *plot.Plot) {
		for _, w := range merged {
			x0, x1 := c.X(p.X.Norm(w.FromMS/1000)), c.X(p.X.Norm(w.ToMS/1000))
			c.FillPolygon(inkFault, []vg.Point{{X: x0, Y: c.Min.Y}, {X: x1, Y: c.Min.Y}, {X: x1, Y: c.Max.Y}, {X: x0, Y: c.Max.Y}})
		}
	}))
}

func mergeWindows(windows []series.Window, endMS float64) []series.Window {
	var merged []series.Window
	for _, w := range windows { // they are sorted by their beginning
		w.FromMS, w.ToMS = max(w.FromMS, 0), min(w.ToMS, endMS)
		if !(w.ToMS > w.FromMS) {
			continue
		}
		if n := len(merged); n > 0 && w.FromMS <= merged[n-1].ToMS {
			merged[n-1].ToMS = max(merged[n-1].ToMS, w.ToMS)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// clip shortens a name to n letters, with an ellipsis in the middle.
func clip(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return string(letters[:n/2]) + "…" + string(letters[len(letters)-(n-n/2-1):])
}
