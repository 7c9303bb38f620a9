package plots

import (
	"math"

	"locklab/reports/lang"
)

// Curve is how a figure of one lock changes with the number of peers.
type Curve struct {
	Name   string
	Points []Peers
}

// Peers is the value of a figure, above 0, with so many peers.
type Peers struct {
	N     int
	Value float64
}

// Growth draws curves on two logarithmic axes: up to most peers, and from low to high, which
// are powers of ten.
func Growth(say *lang.Lang, label string, curves []Curve, most int, low, high float64) []byte {
	var ticks []tick
	for n := 1; n <= most; n *= 10 {
		ticks = append(ticks, tick{math.Log10(float64(n)), number(float64(n))})
	}
	f := newFrame(200, 190, math.Log10(float64(most)), say.Text("peers"), ticks)
	y := f.logarithmic(low, high)
	var ends []end
	for i, c := range curves {
		var line []point
		ink := LockInk(1 + i%(slots-1)) // the first is the neutral one
		for _, p := range c.Points {
			at := point{f.x(math.Log10(float64(p.N))), y(p.Value)}
			line = append(line, at)
			f.fill(ink, point{at.x - 2.5, at.y}, point{at.x, at.y - 2.5}, point{at.x + 2.5, at.y}, point{at.x, at.y + 2.5})
		}
		if len(line) > 0 {
			f.stroke(pen{ink, 1.5, dashes(i)}, line)
			ends = append(ends, end{Line{Name: c.Name, Ink: ink}, line[len(line)-1], 0})
		}
	}
	f.label(ends)
	return f.end(label)
}

// logarithmic draws a line at each power of ten from low to high, and gives the height of a value.
func (f *frame) logarithmic(low, high float64) (y func(v float64) float64) {
	floor, span := math.Log10(low), math.Log10(high/low)
	y = func(v float64) float64 { return f.bottom - (math.Log10(v)-floor)/span*(f.bottom-topMargin) }
	var grid []tick
	for _, v := range decades(low, high) {
		grid = append(grid, tick{y(v), number(v)})
	}
	f.across(grid)
	return y
}

// dashes tell the lines of a figure apart without colour.
func dashes(i int) string { return []string{"", "6 2.5", "2 2", "8 2 2 2"}[i%4] }
