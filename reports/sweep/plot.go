package sweep

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"locklab/reports/lang"
)

const (
	panelWidth  = 300
	legendWidth = 190
	height      = 300
)

// inks are the colours of the locks, and what they are called in the style sheet of the
// pages, which knows them in the dark too.
func inks() []ink {
	return []ink{
		{color.RGBA{0x0b, 0x5c, 0xad, 0xff}, "--s1"},
		{color.RGBA{0xb3, 0x47, 0x00, 0xff}, "--s2"},
		{color.RGBA{0x0a, 0x73, 0x55, 0xff}, "--s3"},
		{color.RGBA{0x9b, 0x2c, 0x77, 0xff}, "--s4"},
		{color.RGBA{0x7a, 0x60, 0x00, 0xff}, "--s5"},
		{color.RGBA{0x5a, 0x4f, 0xb0, 0xff}, "--s6"},
		{color.RGBA{0x8a, 0x33, 0x24, 0xff}, "--s7"},
		{color.RGBA{0x3d, 0x73, 0x17, 0xff}, "--s8"},
	}
}

type ink struct {
	color.RGBA
	name string
}

func axisInk() ink   { return ink{color.RGBA{0x56, 0x5d, 0x66, 0xff}, "--muted"} }
func gridInk() ink   { return ink{color.RGBA{0xe1, 0xe3, 0xe6, 0xff}, "--line"} }
func groundInk() ink { return ink{color.RGBA{0xff, 0xff, 0xff, 0xff}, "--raised"} }

// forPage makes a drawing part of a page: with the colours of its style sheet, and with
// what it shows in words.
func forPage(svg []byte, label string) template.HTML {
	text := string(svg[bytes.Index(svg, []byte("<svg")):])
	for _, i := range append(inks(), axisInk(), gridInk(), groundInk()) {
		text = strings.ReplaceAll(text, fmt.Sprintf("#%02X%02X%02X", i.R, i.G, i.B), "var("+i.name+")")
	}
	return template.HTML(strings.Replace(text, "<svg", `<svg role="img" aria-label="`+template.HTMLEscapeString(label)+`"`, 1)) //nolint:gosec // drawn here, and the label is escaped
}

// Draw draws one figure for a page of [reports.WriteSheet].
func Draw(say *lang.Lang, f Figure, points []Point) (template.HTML, error) {
	locks, zones := order(points)
	low, high := span(f, points)
	canvas := vgsvg.New(vg.Length(panelWidth*len(zones)+legendWidth), height)
	area := draw.New(canvas)
	var legend plot.Legend
	for i, z := range zones {
		p, err := panel(say, f, points, locks, z, low, high)
		if err != nil {
			return "", err
		}
		if i == 0 {
			legend = p.Legend
		}
		p.Legend = plot.NewLegend()
		left := vg.Length(i) * panelWidth
		p.Draw(draw.Crop(area, left+8, left+panelWidth-8-area.Max.X, 8, -8))
	}
	legend.Top, legend.Left, legend.Padding = true, true, 3
	legend.Draw(draw.Crop(area, vg.Length(panelWidth*len(zones)+4), -4, 0, -34))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", fmt.Errorf("draw %s: %w", f.Title, err)
	}
	return forPage(out.Bytes(), label(say, f, points, locks, zones)), nil
}

// label says what the figure shows, and what it comes to with the most peers.
func label(say *lang.Lang, f Figure, points []Point, locks []string, zones []int) string {
	most := 0
	for _, p := range points {
		most = max(most, p.Peers)
	}
	var found []string
	for _, z := range zones {
		var parts []string
		for _, lock := range locks {
			for _, p := range points {
				if v := f.of(p); p.Lock == lock && p.Zones == z && p.Peers == most && v > 0 {
					parts = append(parts, fmt.Sprintf("%s %s", lock, strconv.FormatFloat(v, 'g', 3, 64)))
				}
			}
		}
		found = append(found, say.Sprintf("in %d zones %s", z, strings.Join(parts, ", ")))
	}
	return say.Sprintf("%s, in %s, against the number of peers, to %d: %s.", say.Term(f.Title), say.Term(f.Unit), most, strings.Join(found, "; "))
}

// span is the range of all panels, in whole powers of ten.
func span(f Figure, points []Point) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, p := range points {
		if v := f.of(p); v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		return 1, 10
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if low == high {
		high *= 10
	}
	return low, high
}

// panel draws one number of zones.
func panel(say *lang.Lang, f Figure, points []Point, locks []string, zones int, low, high float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = say.Sprintf("%d zones, %s", zones, say.Term(f.Unit))
	p.X.Label.Text = say.Text("peers")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(decades), plot.TickerFunc(decades)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		ink := axisInk().RGBA
		a.Color, a.Tick.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = ink, ink, ink, ink
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridInk().RGBA, gridInk().RGBA
	p.Add(grid)
	for i, lock := range locks {
		var line plotter.XYs
		for _, point := range points {
			if v := f.of(point); point.Lock == lock && point.Zones == zones && v > 0 {
				line = append(line, plotter.XY{X: float64(point.Peers), Y: v})
			}
		}
		if len(line) == 0 {
			continue
		}
		l, dots, err := plotter.NewLinePoints(line)
		if err != nil {
			return nil, fmt.Errorf("draw %s of %s: %w", f.Title, lock, err)
		}
		ink := inks()[i%len(inks())].RGBA
		l.Color, l.Width, dots.Color = ink, 1.5, ink
		dots.Radius, dots.Shape = 2, draw.CircleGlyph{}
		if i >= len(inks()) {
			l.Dashes = []vg.Length{4, 2}
		}
		p.Add(l, dots)
		p.Legend.Add(lock, l, dots)
	}
	p.Y.Min, p.Y.Max = low, high
	p.X.Min, p.X.Max = 1, 1000
	for _, point := range points {
		p.X.Max = max(p.X.Max, float64(point.Peers))
	}
	return p, nil
}

// decades are the powers of ten, with what is between them unnamed.
func decades(low, high float64) (ticks []plot.Tick) {
	for ten := math.Pow(10, math.Floor(math.Log10(low))); ten <= high*1.001; ten *= 10 {
		for m := 1.0; m < 10; m++ {
			v := ten * m
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 {
				t.Label = strconv.FormatFloat(v, 'f', -1, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
