package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"locklab/reports/lang"
)

// Point is one lock under one scenario. X is the percentage of failed requests, Y what it
// let happen, Mark the number of the lock's shape.
type Point struct {
	Lock, Scenario string
	Ink            Ink
	Mark           int
	X, Y, P99MS    float64
	Unsure         bool
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
	const height, letter = 250.0, 6.1 // of a name, in units of the drawing
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
	f.text(point{leftMargin + 1, topMargin + 4}, measure, "", "", "")
	radius := func(p Point) float64 { return 4 + 7*math.Sqrt(max(p.P99MS, 0)/slowest) }
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(radius(b), radius(a)) }) // small ones stay on top
	taken := []rect{{0, 0, f.right, topMargin + 8}}
	for _, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		taken = append(taken, rect{at.x - r, at.y - r, at.x + r, at.y + r})
	}
	for _, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		name := Clip(p.Lock, 18) + " " + Clip(p.Scenario, 20)
		width := letter * float64(utf8.RuneCountInString(name))
		place := point{at.x + r + 4, at.y}
		for i := range 40 { // to the right, or above and below as far as need be
			step := 13 * float64((i+1)/2)
			if i%2 == 1 {
				step = -step
			}
			left := min(at.x+r+4+math.Abs(step)/2, f.right-width)
			try := rect{left, at.y + step - 7, left + width, at.y + step + 5}
			if try.top > topMargin && try.bottom < f.bottom+2 && !slices.ContainsFunc(taken, try.hits) {
				place = point{left, at.y + step}
				taken = append(taken, try)
				break
			}
		}
		fmt.Fprintf(f, `<a href="%s" aria-label="%s"><title>%s</title>`, escape(p.Href), escape(p.Words), escape(p.Words))
		if math.Abs(place.y-at.y) > 1 {
			f.stroke(pen{p.Ink, 0.7, ""}, []point{at, {place.x - 1, place.y}})
		}
		f.mark(p, at, r)
		f.text(place, name, "", "0.3em", "name small "+string(p.Ink))
		f.WriteString("</a>")
	}
	return f.group(f.bottom+axisHeight, say.Sprintf("%s against failed requests, %d points", measure, len(points)))
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
