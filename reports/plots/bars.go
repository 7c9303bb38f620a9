package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is the duplicates of one lock under a scenario.
type Bar struct {
	Name                           string
	Ink                            Ink
	Raced, Overlooked, Unreachable int64
	Note                           string // after the total, such as the rate
}

func (b Bar) total() int64 { return b.Raced + b.Overlooked + b.Unreachable }

const barRow = 40.0

// Duplicates draws one bar for each lock, stacked by cause.
func Duplicates(scenario string, bars []Bar, scale Scale) []byte {
	lines := make([]Line, len(bars))
	for i, b := range bars {
		lines[i] = Line{Name: b.Name, Ink: b.Ink}
	}
	r := newRows(lines, barRow, 4)
	r.p.X.Min, r.p.X.Max = 0, float64(max(scale.DuplicatesMax, 1))
	r.p.X.Tick.Marker = plot.ConstantTicks(wholeSteps(r.p.X.Max))
	r.p.X.Label.Text = "rooms created in vain"
	r.p.Y.Tick.Marker = plot.ConstantTicks(nil)
	r.p.Add(drawer(func(c draw.Canvas, p *plot.Plot) {
		for i, b := range bars {
			low, high := c.Y(p.Y.Norm(r.base(i)+0.12)), c.Y(p.Y.Norm(r.base(i)+0.52))
			from := int64(0)
			for _, part := range []struct {
				n   int64
				ink Ink
			}{{b.Raced, "k-raced"}, {b.Overlooked, "k-overlooked"}, {b.Unreachable, "k-unreachable"}} {
				if part.n <= 0 {
					continue
				}
				x0, x1 := c.X(p.X.Norm(float64(from))), c.X(p.X.Norm(float64(from+part.n)))
				x1 = max(x1, x0+1.5) // one duplicate beside thousands must still be seen
				c.FillPolygon(part.ink, []vg.Point{{X: x0, Y: low}, {X: x1, Y: low}, {X: x1, Y: high}, {X: x0, Y: high}})
				from += part.n
			}
			base := draw.LineStyle{Color: inkAxis, Width: 1}
			c.StrokeLine2(base, c.Min.X, low, c.Min.X, high)
			out := onCanvas(c.Canvas)
			y := c.Y(p.Y.Norm(r.base(i) + 0.62))
			out.text(vg.Point{X: c.Min.X + 1, Y: y}, clip(b.Name, 34), "", 0, "name "+string(b.Ink))
			out.text(vg.Point{X: c.Max.X - 1, Y: y}, barNote(b), "end", 0, "")
		}
	}))
	return r.render(barRow, barsLabel(scenario, bars))
}

// wholeSteps are round whole numbers from 0 to high.
func wholeSteps(high float64) []plot.Tick {
	step := max(niceStep(high/5), 1)
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= high*1.0001; i++ {
		ticks = append(ticks, plot.Tick{Value: float64(i) * step, Label: number(float64(i) * step)})
	}
	return ticks
}

func barNote(b Bar) string {
	if b.total() == 0 {
		return "0"
	}
	text := number(float64(b.total()))
	if b.Note != "" {
		text += " (" + b.Note + ")"
	}
	return text
}

func barsLabel(scenario string, bars []Bar) string {
	parts := make([]string, 0, len(bars))
	for _, b := range bars {
		parts = append(parts, fmt.Sprintf("%s %d raced, %d overlooked, %d unreachable", b.Name, b.Raced, b.Overlooked, b.Unreachable))
	}
	return "Duplicates under " + scenario + ": " + strings.Join(parts, "; ") + "."
}
