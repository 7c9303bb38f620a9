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
	Unsure         bool
	Href, Words    string
}

// Tradeoff draws each point as a link, with its name. Its shape is that of the lock, its size shows its p99.
func Tradeoff(say *lang.Lang, points []Point) []byte {
	const height, letter, tall = 250.0, 6.8, 12 // of a name, in units of the drawing
	highX, highY, slowest := 1.0, 1.0, 1.0
	for _, p := range points {
		highX, highY, slowest = max(highX, p.X), max(highY, p.Y), max(slowest, p.P99MS)
	}
	stepX, stepY := roundUp(highX/5, 1, 2, 5), roundUp(highY/4, 1, 2, 2.5, 5)
	inset := stepX / 3 // keeps marks at 0 off the axes
	var ticks, grid []tick
	for v := 0.0; v < highX+stepX; v += stepX {
		ticks = append(ticks, tick{v + inset, number(v) + " %"})
	}
	f := newFrame(height, ticks[len(ticks)-1].at+inset/2, say.Text("failed requests, in the measured part"), ticks)
	place := func(p Point) (at point, r float64) {
		return point{f.x(p.X + inset), f.bottom - 16 - p.Y/highY*(height-50)}, 4 + 7*math.Sqrt(max(p.P99MS, 0)/slowest)
	}
	for v := 0.0; v < highY+stepY/2; v += stepY {
		at, _ := place(Point{Y: v})
		grid = append(grid, tick{at.y, number(v)})
	}
	f.across(grid)
	// On a phone letters are 15 high.
	f.text(point{leftMargin + 1, topMargin + 11}, say.Text("violations"), "", "", "")
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(b.P99MS, a.P99MS) }) // small marks on top
	taken := []box{{0, 0, rightEdge, topMargin + 15}}
	for _, p := range points {
		at, r := place(p)
		taken = append(taken, box{at.x - r, at.y - r, 2 * r, 2 * r})
	}
	var names []point // the middle of the left edge of each
	for _, p := range points {
		at, r := place(p)
		width := letter * float64(utf8.RuneCountInString(p.name()))
		// To the right of its mark, moved up or down as little as avoids all marks and other names.
		free := box{min(at.x+r+4, rightEdge-width), at.y - 7, width, tall}
		for i := range 40 {
			down := float64((i+1)/2*(tall+1)) * float64(1-i%2*2)
			b := box{min(at.x+r+4+math.Abs(down)/2, rightEdge-width), at.y - 7 + down, width, tall}
			if b.y > topMargin && b.y+b.h < f.bottom+2 && !slices.ContainsFunc(taken, b.hits) {
				free = b
				break
			}
		}
		name := point{free.x, free.y + 7}
		names, taken = append(names, name), append(taken, free)
		if math.Abs(name.y-at.y) > 1 { // under all names, so that they stay legible
			f.stroke(pen{p.Ink, 0.7, ""}, []point{at, {name.x - 1, name.y}})
		}
	}
	for i, p := range points {
		at, r := place(p)
		fmt.Fprintf(f, `<a href="%s" aria-label="%s"><title>%s</title>`, escape(p.Href), escape(p.Words), escape(p.Words))
		shape := mark(p.Mark, at, r)
		if !p.Unsure {
			f.fill(p.Ink+" soft", shape...)
		}
		f.stroke(pen{p.Ink, 1.4, ""}, append(shape, shape[0]))
		f.text(names[i], p.name(), "", "0.3em", "name small "+string(p.Ink))
		f.WriteString("</a>")
	}
	return f.sized(figureWidth, f.bottom+axisHeight, "group",
		say.Sprintf("violations against failed requests, %d points", len(points)))
}

// name is the text beside a mark.
func (p Point) name() string { return clip(p.Lock, 18) + " " + clip(p.Scenario, 20) }
