package plots

import (
	"math"
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
// and high.
func Growth(say *lang.Lang, label string, curves []Curve, most int, low, high float64) []byte {
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Floor(math.Log10(high))+1)
	const few = 100 // up to so many peers, 2 and 5 between powers of ten are marked too
	var ticks []tick
	for ten := 1; ten <= most; ten *= 10 {
		for _, n := range []int{ten, 2 * ten, 5 * ten} {
			if n == ten || most <= few {
				ticks = append(ticks, tick{math.Log10(float64(n)), number(float64(n))})
			}
		}
	}
	const letter, least, largest = 8.6, 120, 320
	right := 0.0 // the names stand there whole
	for _, c := range curves {
		right = max(right, nameGap+letter*float64(utf8.RuneCountInString(c.Name)+1))
	}
	f := newFrame(200, min(max(right, least), largest), math.Log10(float64(most)),
		say.Sprintf("%s, on a logarithmic scale", say.Text("peers")), ticks)
	y := f.logarithmic(low, high)
	var ends []end
	for i, c := range curves {
		var line []point
		ink := LockInk(1 + i%(slots-1)) // the first is the neutral one
		for _, p := range c.Points {
			at := point{f.x(math.Log10(float64(p.N))), y(p.Value)}
			line = append(line, at)
			f.fill(ink, mark(i, at, 4)...)
		}
		if len(line) > 0 {
			f.stroke(pen{ink, 1.5, dashes(i)}, line)
			ends = append(ends, end{Line{Name: c.Name, Ink: ink}, line[len(line)-1], 0})
		}
	}
	f.label(ends, letter)
	return f.end(label)
}
