package plots

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

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

// Growth draws curves on two logarithmic axes: up to most peers, and over the powers of ten around low
// and high. The names stand beside the ends of the lines.
func Growth(say *lang.Lang, label string, curves []Curve, most int, low, high float64) []byte {
	floor, ceiling := math.Floor(math.Log10(low)), math.Floor(math.Log10(high))+1
	const few = 100 // up to so many peers, 2 and 5 between powers of ten are marked too
	var ticks []tick
	for ten := 1; ten <= most; ten *= 10 {
		for _, n := range []int{ten, 2 * ten, 5 * ten} {
			if n == ten || most <= few {
				ticks = append(ticks, tick{math.Log10(float64(n)), number(float64(n))})
			}
		}
	}
	const letter, gap, least, largest = 8.6, 12, 120, 320
	right := 0.0 // the names stand there whole
	for _, c := range curves {
		right = max(right, gap+letter*float64(utf8.RuneCountInString(c.Name)+1))
	}
	f := newFrame(figureWidth, leftMargin, 200, min(max(right, least), largest), math.Log10(float64(most)),
		say.Sprintf("%s, on a logarithmic scale", say.Text("peers")), ticks)
	y := func(power float64) float64 { return f.bottom - (power-floor)/(ceiling-floor)*(f.bottom-topMargin) }
	var grid []tick
	for power := floor; power <= ceiling; power++ {
		grid = append(grid, tick{y(power), number(math.Pow(10, power))})
	}
	f.across(grid)
	type end struct {
		point
		name string
		ink  Ink
	}
	var ends []end
	for i, c := range curves {
		var line []point
		ink := LockInk(1 + i%(slots-1)) // the first is the neutral one
		for _, p := range c.Points {
			at := point{f.x(math.Log10(float64(p.N))), y(math.Log10(p.Value))}
			line = append(line, at)
			f.fill(ink, mark(i, at, 4)...)
		}
		if len(line) > 0 {
			f.stroke(pen{ink, 1.5, dashes(i)}, line)
			ends = append(ends, end{line[len(line)-1], c.Name, ink})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	const row = 16 // also where the page enlarges it
	next := topMargin
	for i, e := range ends { // apart from each other, and none below the plot
		at := point{f.right + gap, max(next, min(e.y, f.bottom-row*float64(len(ends)-1-i)))}
		f.stroke(pen{e.ink, 0.7, ""}, []point{{e.x + 2, e.y}, {at.x - 2, at.y}})
		f.text(at, Clip(e.name, int((figureWidth-at.x)/letter)), "", "0.35em", "name "+string(e.ink))
		next = at.y + row
	}
	return f.end(label)
}
