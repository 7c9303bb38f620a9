package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
)

// Point is one lock under one scenario. X is the percentage of failed requests, Y what it
// let happen, Mark the number of the lock's shape.
type Point struct {
	Lock, Scenario string
	Ink            Ink
	Mark           int
	X, Y, P99MS    float64
	Unsure, Unsafe bool // Unsafe by something else than what Y is of
	Href, Words    string
}

// rect is taken by a mark or a label.
type rect struct{ left, top, right, bottom float64 }

func (r rect) hits(o rect) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

// Tradeoff draws the points as links, each with a shape of its lock, as large as its p99
// is long, and with its name.
func Tradeoff(say *lang.Lang, measure string, points []Point) []byte {
	const height, letter = 250.0, 6.4 // of a name, in units of the drawing
	highX, highY, slowest := 1.0, 1.0, 1.0
	for _, p := range points {
		highX, highY, slowest = max(highX, p.X), max(highY, p.Y), max(slowest, p.P99MS)
	}
	stepX, stepY := roundUp(highX/5, 1, 2, 5), roundUp(highY/4, 1, 2, 2.5, 5)
	inset := stepX / 3 // so that a mark at 0 lies on no axis
	var ticks []tick
	for v := 0.0; v < highX+stepX; v += stepX {
		ticks = append(ticks, tick{v + inset, number(v) + " %"})
	}
	f := newFrame(height, rightMargin, ticks[len(ticks)-1].at+inset/2, say.Text("failed requests, in the measured part"), ticks)
	x := func(v float64) float64 { return f.x(v + inset) }
	y := func(v float64) float64 { return f.bottom - 16 - v/highY*(height-50) }
	var grid []tick
	for v := 0.0; v < highY+stepY/2; v += stepY {
		grid = append(grid, tick{y(v), number(v)})
	}
	f.across(grid)
	f.text(point{leftMargin + 1, topMargin + 11}, measure, "", "", "") // letters of a phone are 15 high
	radius := func(p Point) float64 { return 4 + 7*math.Sqrt(max(p.P99MS, 0)/slowest) }
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(radius(b), radius(a)) }) // small ones stay on top
	taken := []rect{{0, 0, f.right, topMargin + 15}}
	for _, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		taken = append(taken, rect{at.x - r, at.y - r, at.x + r, at.y + r})
	}
	names := labels{taken: taken, top: topMargin, bottom: f.bottom + 2, right: f.right}
	places := make([]point, len(points))
	for i, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		places[i] = names.place(at, r, letter*letters(nameOf(p)))
		if math.Abs(places[i].y-at.y) > 1 || places[i].x > at.x+r+5 { // below all names, which stay legible where one has to be crossed
			f.stroke(pen{p.Ink, 0.7, ""}, []point{at, {places[i].x - 1, places[i].y}})
		}
	}
	for i, p := range points {
		fmt.Fprintf(f, `<a href="%s" aria-label="%s"><title>%s</title>`, escape(p.Href), escape(p.Words), escape(p.Words))
		f.mark(p, point{x(p.X), y(p.Y)}, radius(p))
		f.text(places[i], nameOf(p), "", "0.3em", "name small "+string(p.Ink))
		f.WriteString("</a>")
	}
	return f.group(f.bottom+axisHeight, say.Sprintf("%s against failed requests, %d points", measure, len(points)))
}

// nameOf is what stands beside a mark.
func nameOf(p Point) string {
	name := Clip(p.Lock, 18) + " " + Clip(p.Scenario, 20)
	if p.Unsafe {
		name += " ✗"
	}
	return name
}

// letters is how many of a middling width a text is as long as.
func letters(text string) (n float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("mw=+…✗", r):
			n += 1.6
		case strings.ContainsRune("fijlt.,:-", r):
			n += 0.7
		default:
			n += 1.05
		}
	}
	return n
}

// labels finds places for names, none upon another.
type labels struct {
	taken              []rect // by marks and names
	names              []rect
	lines              [][2]point // from a mark to its name where that is not beside it
	top, bottom, right float64
}

// place is where the middle of the left edge of a name may be: to the right of its mark, or above
// and below as far as need be, or farther to the right. One whose line crosses no other name is taken first.
func (l *labels) place(at point, r, width float64) point {
	const rows, columns, aside = 40, 6, 50
	best, found := point{min(at.x+r+4, l.right-width), at.y}, false
	for n := range rows * columns {
		i, farther := n%rows, aside*float64(n/rows)
		if i == 0 && found {
			break
		}
		step := 13 * float64((i+1)/2)
		if i%2 == 1 {
			step = -step
		}
		to := point{min(at.x+r+4+math.Abs(step)/2+farther, l.right-width), at.y + step}
		try := l.around(to, width)
		if try.top <= l.top || try.bottom >= l.bottom || slices.ContainsFunc(l.taken, try.hits) {
			continue
		}
		line := [2]point{at, to}
		clear := (step == 0 && farther == 0 || !slices.ContainsFunc(l.names, func(o rect) bool { return o.crossed(line) })) && !slices.ContainsFunc(l.lines, try.crossed)
		if clear || !found {
			best, found = to, true
		}
		if clear {
			break
		}
	}
	if found {
		l.taken, l.names = append(l.taken, l.around(best, width)), append(l.names, l.around(best, width))
	}
	if best != (point{at.x + r + 4, at.y}) {
		l.lines = append(l.lines, [2]point{at, best})
	}
	return best
}

func (l *labels) around(p point, width float64) rect {
	return rect{p.x, p.y - 7, p.x + width, p.y + 5}
}

// crossed says whether a line goes through the rectangle. The line's end is the edge of its own
// name, which is none of these.
func (r rect) crossed(line [2]point) bool {
	const steps = 50
	from, to := line[0], line[1]
	for i := range steps + 1 {
		share := float64(i) / steps
		x, y := from.x+share*(to.x-from.x), from.y+share*(to.y-from.y)
		if r.left < x && x < r.right && r.top < y && y < r.bottom {
			return true
		}
	}
	return false
}

// mark draws the shape of a lock, hollow if it decides nothing.
func (f *frame) mark(p Point, at point, r float64) {
	corners := []int{24, 4, 3, 6, 5, 8}[p.Mark%6]
	turn := []float64{0, math.Pi / 4, -math.Pi / 2, 0, -math.Pi / 2, math.Pi / 8}[p.Mark%6]
	var shape []point
	for i := range corners {
		angle := turn + 2*math.Pi*float64(i)/float64(corners)
		shape = append(shape, point{at.x + r*math.Cos(angle), at.y + r*math.Sin(angle)})
	}
	if !p.Unsure {
		f.fill(p.Ink+" soft", shape...)
	}
	f.stroke(pen{p.Ink, 1.4, ""}, append(shape, shape[0]))
}
