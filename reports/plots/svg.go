package plots

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Ink is a class of the page's style sheet, which sets the colour.
type Ink string

// The inks of everything but locks.
const (
	inkAxis  Ink = "k-axis"  // axis lines and ticks
	inkGrid  Ink = "k-grid"  // lines behind the data
	inkFault Ink = "k-fault" // the time of a fault
	inkBad   Ink = "k-bad"   // failed operations
	inkMark  Ink = "k-mark"  // duplicates
	inkQuiet Ink = "k-quiet" // references, such as the offered rate
)

// slots is the number of inks for locks in the style sheet.
const slots = 12

// LockInk is the ink of the n-th lock; beyond the last they repeat.
func LockInk(n int) Ink { return Ink("k" + strconv.Itoa(((n%slots)+slots)%slots)) }

// point is a place in the units of the drawing, from the left and from the top.
type point struct{ x, y float64 }

// box is a rectangle.
type box struct{ x, y, w, h float64 }

// hits says whether two boxes overlap.
func (b box) hits(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

// mark outlines a point of the i-th line, so that lines differ without colour: a circle, a square, a triangle, a
// hexagon, a pentagon, an octagon.
func mark(i int, at point, r float64) (outline []point) {
	corners := []int{24, 4, 3, 6, 5, 8}[i%6]
	turn := []float64{0, math.Pi / 4, -math.Pi / 2, 0, -math.Pi / 2, math.Pi / 8}[i%6]
	for n := range corners {
		angle := turn + 2*math.Pi*float64(n)/float64(corners)
		outline = append(outline, point{at.x + r*math.Cos(angle), at.y + r*math.Sin(angle)})
	}
	return outline
}

// pen is how a line is drawn.
type pen struct {
	ink    Ink
	width  float64
	dashes string
}

// svg is a drawing that is being made.
type svg struct{ bytes.Buffer }

// sized ends the drawing. The label describes it in words.
func (s *svg) sized(width, height float64, role, label string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg class="plot" viewBox="0 0 %s %s" role="%s" aria-label="%s">%s</svg>`,
		short(width), short(height), role, escape(label), s.Bytes())
	return out.Bytes()
}

// stroke draws lines as one path.
func (s *svg) stroke(p pen, lines ...[]point) {
	d := data(lines)
	if d == "" {
		return
	}
	fmt.Fprintf(s, `<path class="st %s"`, p.ink)
	if p.width != 1 {
		fmt.Fprintf(s, ` stroke-width="%s"`, short(p.width))
	}
	if p.dashes != "" {
		fmt.Fprintf(s, ` stroke-dasharray="%s"`, p.dashes)
	}
	fmt.Fprintf(s, ` d="%s"/>`, d)
}

// fill draws an area.
func (s *svg) fill(ink Ink, shape ...point) {
	if len(shape) > 0 {
		fmt.Fprintf(s, `<path class="fl %s" d="%sZ"/>`, ink, data([][]point{shape}))
	}
}

// data writes lines as the data of a path: where each begins, then relative steps, which are half as long.
func data(lines [][]point) string {
	var out strings.Builder
	for _, line := range lines {
		last := point{}
		for i, p := range line {
			p = point{tenths(p.x), tenths(p.y)}
			dx, dy := short(p.x-last.x), short(p.y-last.y)
			switch {
			case i == 0:
				out.WriteString("M" + dx + " " + dy)
			case dy[0] == '-': // the minus separates the numbers
				out.WriteString("l" + dx + dy)
			default:
				out.WriteString("l" + dx + " " + dy)
			}
			last = p
		}
	}
	return out.String()
}

// text writes words. The anchor is "", "middle" or "end"; dy moves the base line down in ems, so that it fits any
// font size of the page.
func (s *svg) text(at point, words, anchor, dy, class string) {
	if words == "" {
		return
	}
	fmt.Fprintf(s, `<text x="%s" y="%s"`, short(at.x), short(at.y))
	for _, a := range []struct{ name, value string }{{"text-anchor", anchor}, {"dy", dy}, {"class", class}} {
		if a.value != "" {
			fmt.Fprintf(s, ` %s="%s"`, a.name, a.value)
		}
	}
	fmt.Fprintf(s, `>%s</text>`, escape(words))
}

func escape(text string) string { return html.EscapeString(text) }

// short writes a length with one digit after the point, and no more than needed.
func short(v float64) string { return strconv.FormatFloat(tenths(v)+0, 'f', -1, 64) } // -0 is 0

// tenths rounds to tenths and bounds values far outside of any drawing.
func tenths(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	const far = 1e5
	return math.Round(min(max(v, -far), far)*10) / 10
}
