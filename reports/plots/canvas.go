package plots

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Ink is a class of the page's style sheet where gonum wants a colour. The class
// sets the variable --ink; shapes are filled or stroked with it.
type Ink string

// RGBA makes an ink a color.Color. The value is for canvases that know no inks.
func (Ink) RGBA() (r, g, b, a uint32) { return color.Black.RGBA() }

// The inks that are not those of a lock.
const (
	inkAxis  Ink = "k-axis"  // axis lines and ticks
	inkGrid  Ink = "k-grid"  // lines behind the data
	inkText  Ink = "k-text"  // labels of ticks and axes
	inkFault Ink = "k-fault" // the time of a fault
	inkBad   Ink = "k-bad"   // failed operations
	inkMark  Ink = "k-mark"  // duplicates
	inkQuiet Ink = "k-quiet" // references, such as the offered rate
)

// slots is the number of inks for locks in the style sheet.
const slots = 12

// LockInk is the ink of the n-th lock. Beyond the last they begin again.
func LockInk(n int) Ink { return Ink("k" + strconv.Itoa(((n%slots)+slots)%slots)) }

// canvas writes SVG. It implements vg.Canvas; y grows upwards as gonum wants it.
type canvas struct {
	out    bytes.Buffer
	w, h   float64
	state  pen
	pushed []pen
}

type pen struct {
	ink    Ink
	width  float64
	dashes []vg.Length
	m      [6]float64 // x' = m0 x + m2 y + m4, y' = m1 x + m3 y + m5
}

var _ vg.CanvasSizer = (*canvas)(nil)

func newCanvas(w, h float64) *canvas {
	return &canvas{w: w, h: h, state: pen{ink: inkText, width: 1, m: [6]float64{1, 0, 0, 1, 0, 0}}}
}

// svg ends the drawing. The label says in words what the figure shows.
func (c *canvas) svg(label string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg class="plot" viewBox="0 0 %s %s" role="img" aria-label="%s">`,
		short(c.w), short(c.h), html.EscapeString(label))
	out.Write(c.out.Bytes())
	out.WriteString("</svg>")
	return out.Bytes()
}

func (c *canvas) Size() (w, h vg.Length)                  { return vg.Length(c.w), vg.Length(c.h) }
func (c *canvas) SetLineWidth(w vg.Length)                { c.state.width = w.Points() }
func (c *canvas) SetLineDash(d []vg.Length, _ vg.Length)  { c.state.dashes = d }
func (c *canvas) Push()                                   { c.pushed = append(c.pushed, c.state) }
func (c *canvas) DrawImage(_ vg.Rectangle, _ image.Image) {} // no figure has images

func (c *canvas) SetColor(clr color.Color) {
	c.state.ink = inkText
	if ink, ok := clr.(Ink); ok {
		c.state.ink = ink
	}
}

func (c *canvas) Pop() {
	c.state = c.pushed[len(c.pushed)-1]
	c.pushed = c.pushed[:len(c.pushed)-1]
}

func (c *canvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.transform([6]float64{cos, sin, -sin, cos, 0, 0})
}

func (c *canvas) Translate(p vg.Point) {
	c.transform([6]float64{1, 0, 0, 1, p.X.Points(), p.Y.Points()})
}
func (c *canvas) Scale(x, y float64) { c.transform([6]float64{x, 0, 0, y, 0, 0}) }

func (c *canvas) transform(t [6]float64) {
	m := c.state.m
	c.state.m = [6]float64{
		m[0]*t[0] + m[2]*t[1], m[1]*t[0] + m[3]*t[1],
		m[0]*t[2] + m[2]*t[3], m[1]*t[2] + m[3]*t[3],
		m[0]*t[4] + m[2]*t[5] + m[4], m[1]*t[4] + m[3]*t[5] + m[5],
	}
}

// place is the point in the coordinates of the SVG, in tenths: nothing smaller is
// written.
func (c *canvas) place(p vg.Point) (x, y int) {
	px, py := p.X.Points(), p.Y.Points()
	m := c.state.m
	return tenths(m[0]*px + m[2]*py + m[4]), tenths(c.h - (m[1]*px + m[3]*py + m[5]))
}

func (c *canvas) Stroke(path vg.Path) {
	if c.state.width <= 0 || len(path) == 0 {
		return
	}
	fmt.Fprintf(&c.out, `<path class="st %s"`, c.state.ink)
	if c.state.width != 1 {
		fmt.Fprintf(&c.out, ` stroke-width="%s"`, short(c.state.width))
	}
	if len(c.state.dashes) > 0 {
		parts := make([]string, len(c.state.dashes))
		for i, d := range c.state.dashes {
			parts[i] = short(d.Points())
		}
		fmt.Fprintf(&c.out, ` stroke-dasharray="%s"`, strings.Join(parts, " "))
	}
	fmt.Fprintf(&c.out, ` d="%s"/>`, c.data(path))
}

func (c *canvas) Fill(path vg.Path) {
	if len(path) > 0 {
		fmt.Fprintf(&c.out, `<path class="fl %s" d="%s"/>`, c.state.ink, c.data(path))
	}
}

func (c *canvas) data(path vg.Path) string {
	var b []byte
	lastX, lastY := 0, 0
	point := func(command byte, p vg.Point) {
		x, y := c.place(p)
		b = appendTenths(append(b, command), x)
		b = appendTenths(append(b, ' '), y)
		lastX, lastY = x, y
	}
	line := func(p vg.Point) { // relative ones are half as long
		x, y := c.place(p)
		b = appendTenths(append(b, 'l'), x-lastX)
		if y >= lastY {
			b = append(b, ' ') // otherwise the minus sets them apart
		}
		b = appendTenths(b, y-lastY)
		lastX, lastY = x, y
	}
	for _, comp := range path {
		switch comp.Type {
		case vg.MoveComp:
			point('M', comp.Pos)
		case vg.LineComp:
			line(comp.Pos)
		case vg.CurveComp:
			command := byte('Q')
			if len(comp.Control) == 2 {
				command = 'C'
			}
			for _, p := range comp.Control {
				point(command, p)
				command = ' '
			}
			point(' ', comp.Pos)
		case vg.ArcComp:
			const steps = 24 // a polygon: arcs occur only as small round marks
			for i := range steps + 1 {
				sin, cos := math.Sincos(comp.Start + comp.Angle*float64(i)/steps)
				at := vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos), Y: comp.Pos.Y + comp.Radius*vg.Length(sin)}
				if len(b) == 0 {
					point('M', at)
				} else {
					line(at)
				}
			}
		case vg.CloseComp:
			b = append(b, 'Z')
		}
	}
	return string(b)
}

// FillString is for text that does not come through the package's own handler.
func (c *canvas) FillString(_ font.Face, p vg.Point, s string) { c.text(p, s, "", 0, "") }

// text writes s. The anchor is "", "middle" or "end"; dy moves the base line down
// by that many ems, so that it stays right whatever size the page gives to it.
func (c *canvas) text(p vg.Point, s, anchor string, dy float64, class string) {
	if s == "" {
		return
	}
	x, y := c.place(p)
	fmt.Fprintf(&c.out, `<text x="%s" y="%s"`, appendTenths(nil, x), appendTenths(nil, y))
	if anchor != "" {
		fmt.Fprintf(&c.out, ` text-anchor="%s"`, anchor)
	}
	if dy != 0 {
		fmt.Fprintf(&c.out, ` dy="%sem"`, strconv.FormatFloat(dy, 'f', -1, 64))
	}
	if class != "" {
		fmt.Fprintf(&c.out, ` class="%s"`, class)
	}
	fmt.Fprintf(&c.out, `>%s</text>`, html.EscapeString(s))
}

// onCanvas is the package's canvas below a canvas of gonum.
func onCanvas(c vg.Canvas) *canvas {
	switch c := c.(type) {
	case *canvas:
		return c
	case *draw.Canvas:
		return onCanvas(c.Canvas)
	case draw.Canvas:
		return onCanvas(c.Canvas)
	default:
		return newCanvas(1, 1) // somebody else's canvas: nothing to write to
	}
}

// writer measures text as gonum does, so that axes leave room for it, but lets
// the SVG align it.
type writer struct{ text.Plain }

func (w writer) Draw(c vg.Canvas, s string, sty text.Style, p vg.Point) {
	anchor := map[text.XAlignment]string{text.XCenter: "middle", text.XRight: "end"}[sty.XAlign]
	// gonum asks for a place one descent above the one that it means.
	dy := map[text.YAlignment]float64{text.YTop: 1, text.YCenter: 0.56, text.YBottom: 0}[sty.YAlign]
	onCanvas(c).text(p, s, anchor, dy, "")
}

// short writes a length with one digit after the point, and no more than needed.
func short(v float64) string { return string(appendTenths(nil, tenths(v))) }

// tenths bounds what is far outside of any drawing, so that it stays a number.
func tenths(v float64) int {
	if math.IsNaN(v) {
		return 0
	}
	const far = 1e5
	return int(math.Round(min(max(v, -far), far) * 10))
}

func appendTenths(b []byte, v int) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	if v >= 10 || v == 0 {
		b = strconv.AppendInt(b, int64(v/10), 10)
	}
	if v%10 != 0 {
		b = append(b, '.', byte('0'+v%10))
	}
	return b
}
