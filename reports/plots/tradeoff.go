package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"locklab/reports/lang"
)

// Point is one lock under one scenario. X is the percentage of failed requests, Y the number of
// violations, Mark the number of the lock's shape.
type Point struct {
	Lock, Scenario string
	Ink            Ink
	Mark           int
	X, Y, P99MS    float64
	Unsure, Unsafe bool // Unsafe: by violations of another kind than Y
	Href, Words    string
}

// Tradeoff draws the points as links, each with a shape of its lock, as large as its p99
// is long, and with its name.
func Tradeoff(say *lang.Lang, measure string, points []Point) []byte {
	const height, letter = 250.0, 6.8 // of a name, in units of the drawing
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
	f := newFrame(height, rightMargin, ticks[len(ticks)-1].at+inset/2, say.Text("failed requests, in the measured part"),
		ticks)
	x := func(v float64) float64 { return f.x(v + inset) }
	y := func(v float64) float64 { return f.bottom - 16 - v/highY*(height-50) }
	var grid []tick
	for v := 0.0; v < highY+stepY/2; v += stepY {
		grid = append(grid, tick{y(v), number(v)})
	}
	f.across(grid)
	f.text(point{leftMargin + 1, topMargin + 11}, measure, "", "", "") // letters of a phone are 15 high
	radius := func(p Point) float64 { return 4 + 7*math.Sqrt(max(p.P99MS, 0)/slowest) }
	// small ones stay on top
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(radius(b), radius(a)) })
	taken := []box{{0, 0, f.right, topMargin + 15}}
	for _, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		taken = append(taken, box{at.x - r, at.y - r, 2 * r, 2 * r})
	}
	places := make([]point, len(points))
	for i, p := range points {
		at, r := point{x(p.X), y(p.Y)}, radius(p)
		var name box
		places[i], name = place(taken, at, r, letter*float64(utf8.RuneCountInString(nameOf(p))), f.right, f.bottom+2)
		taken = append(taken, name)
		// below all names, which stay legible where one has to be crossed
		if math.Abs(places[i].y-at.y) > 1 || places[i].x > at.x+r+5 {
			f.stroke(pen{p.Ink, 0.7, ""}, []point{at, {places[i].x - 1, places[i].y}})
		}
	}
	for i, p := range points {
		fmt.Fprintf(f, `<a href="%s" aria-label="%s"><title>%s</title>`, escape(p.Href), escape(p.Words), escape(p.Words))
		shape := mark(p.Mark, point{x(p.X), y(p.Y)}, radius(p))
		if !p.Unsure {
			f.fill(p.Ink+" soft", shape...)
		}
		f.stroke(pen{p.Ink, 1.4, ""}, append(shape, shape[0]))
		f.text(places[i], nameOf(p), "", "0.3em", "name small "+string(p.Ink))
		f.WriteString("</a>")
	}
	return f.sized(figureWidth, f.bottom+axisHeight, "group",
		say.Sprintf("%s against failed requests, %d points", measure, len(points)))
}

// nameOf is the text beside a mark.
func nameOf(p Point) string {
	name := Clip(p.Lock, 18) + " " + Clip(p.Scenario, 20)
	if p.Unsafe {
		name += " ✗"
	}
	return name
}

// place is where the middle of the left edge of a name is: to the right of its mark, or as little
// above or below that as leaves it on no mark and on no other name.
func place(taken []box, at point, r, width, right, bottom float64) (point, box) {
	const rows, step = 40, 13
	best := point{min(at.x+r+4, right-width), at.y}
	around := func(p point) box { return box{p.x, p.y - 7, width, 12} }
	for i := range rows {
		down := step * float64((i+1)/2)
		if i%2 == 1 {
			down = -down
		}
		p := point{min(at.x+r+4+math.Abs(down)/2, right-width), at.y + down}
		if name := around(p); name.y > topMargin && name.y+name.h < bottom && !slices.ContainsFunc(taken, name.hits) {
			best = p
			break
		}
	}
	return best, around(best)
}
