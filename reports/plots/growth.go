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

// Growth draws curves on two logarithmic axes: up to most peers, and from low to high, which
// are powers of ten.
func Growth(say *lang.Lang, label string, curves []Curve, most int, low, high float64) []byte {
	const few = 100 // up to so many, what is between powers of ten is marked too
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
	f := newFrame(200, min(max(right, least), largest), math.Log10(float64(most)), say.Sprintf("%s, on a logarithmic scale", say.Text("peers")), ticks)
	y := f.logarithmic(low, high)
	var ends []end
	for i, c := range curves {
		var line []point
		ink := LockInk(1 + i%(slots-1)) // the first is the neutral one
		for _, p := range c.Points {
			at := point{f.x(math.Log10(float64(p.N))), y(p.Value)}
			line = append(line, at)
			f.fill(ink, mark(i, at)...)
		}
		if len(line) > 0 {
			f.stroke(pen{ink, 1.5, dashes(i)}, line)
			ends = append(ends, end{Line{Name: c.Name, Ink: ink}, line[len(line)-1], 0})
		}
	}
	f.label(ends, letter)
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

// mark is the outline of the points of the i-th line, so that they are told apart without
// colour: a diamond, a square, a triangle that points up, one that points down, and a cross.
func mark(i int, at point) (outline []point) {
	const r, s = 4, 1.3
	shapes := [][]point{
		{{-r, 0}, {0, -r}, {r, 0}, {0, r}},
		{{-3, -3}, {3, -3}, {3, 3}, {-3, 3}},
		{{-r, 3}, {0, -r}, {r, 3}},
		{{-r, -3}, {r, -3}, {0, r}},
		{{-s, -r}, {s, -r}, {s, -s}, {r, -s}, {r, s}, {s, s}, {s, r}, {-s, r}, {-s, s}, {-r, s}, {-r, -s}, {-s, -s}},
	}
	for _, p := range shapes[i%len(shapes)] {
		outline = append(outline, point{at.x + p.x, at.y + p.y})
	}
	return outline
}

// dashes tell the lines of a figure apart without colour.
func dashes(i int) string { return []string{"", "6 2.5", "2 2", "8 2 2 2"}[i%4] }
