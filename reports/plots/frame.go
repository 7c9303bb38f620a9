// Package plots draws the figures of a report as SVG.
//
// The SVG takes its colours and font sizes from the style sheet of its page: it carries classes ([Ink]) instead of
// colours, so that one drawing serves light and dark, screen and print, wide and narrow.
package plots

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/series"
)

// Line is one lock in a figure.
type Line struct {
	Name    string
	Ink     Ink
	Offered []Offered // none if there is no rate
	Series  series.Series
}

// Offered is the load per second from a moment on.
type Offered struct{ FromMS, PerS float64 }

// The layout, in units of the SVG. A figure is about as wide as half a desktop
// page; on a phone the style sheet enlarges the text.
const (
	figureWidth = 520.0
	leftMargin  = 46.0 // for the labels of the vertical axis
	rightEdge   = 510.0
	topMargin   = 4.0
	axisHeight  = 46.0 // for the horizontal axis and its label
	nameHeight  = 16.0 // for the name above a strip
	descent     = 2.2  // of the letters
)

// tick is a mark on an axis with its label.
type tick struct {
	at    float64
	label string
}

// frame is a figure with a horizontal axis below its data.
type frame struct {
	svg
	bottom float64 // edge of the data, which begins at the top margin
	high   float64 // value at the right end of the axis, which begins at 0
}

func newFrame(height, high float64, label string, ticks []tick) *frame {
	f := &frame{bottom: topMargin + height, high: high}
	axis := f.bottom + 0.5
	// Below the ticks' labels, whatever their size.
	f.text(point{(leftMargin + rightEdge) / 2, axis + 4}, label, "middle", "2.35em", "")
	ticks = slices.DeleteFunc(ticks, func(t tick) bool { return f.x(t.at) > rightEdge+0.01 })
	for _, t := range ticks {
		f.text(point{f.x(t.at), axis + 4 - descent}, t.label, "middle", "1em", "")
	}
	for _, t := range ticks {
		f.stroke(pen{inkAxis, 1, ""}, []point{{f.x(t.at), axis + 4}, {f.x(t.at), axis}})
	}
	f.stroke(pen{inkAxis, 1, ""}, []point{{leftMargin, axis}, {rightEdge, axis}})
	return f
}

// x is the position of a value on the horizontal axis.
func (f *frame) x(v float64) float64 { return leftMargin + v/f.high*(rightEdge-leftMargin) }

// across draws a line through the data at each tick of the vertical axis; ticks are at heights in the drawing.
func (f *frame) across(ticks []tick) {
	var lines [][]point
	for _, t := range ticks {
		f.text(point{leftMargin - 3, t.at - descent}, t.label, "end", "0.56em", "")
		lines = append(lines, []point{{leftMargin, t.at}, {rightEdge, t.at}})
	}
	f.stroke(pen{inkGrid, 1, ""}, lines...)
}

// rows is a figure with one strip for each lock, one below the other. In a strip 0 is the bottom and 1 the top;
// the lock's name is above.
type rows struct {
	*frame
	lines         []Line
	height, below float64 // of a row, and of its free part under the strip, for marks
}

// place is a height in the i-th row, as a share from below.
func (r rows) place(i int, share float64) float64 {
	return topMargin + r.height*(float64(i+1)-share)
}

// level is the height of a share of 0 to 1 in the i-th strip.
func (r rows) level(i int, share float64) float64 {
	return r.place(i, 0) - r.below - (r.height-r.below-nameHeight)*share
}

// overTime makes rows over time, with the faults shaded and the levels labelled in every strip.
func overTime(say *lang.Lang, lines []Line, height, below float64, levels []tick) rows {
	ms := 0.0
	for _, l := range lines {
		ms = max(ms, l.Series.DurationMS)
	}
	seconds := max(ms/1000, 0.001)
	f := newFrame(height*float64(max(len(lines), 1)), seconds, say.Text("seconds since the measured part began"),
		timeSteps(seconds))
	r := rows{f, lines, height, below}
	var ticks []tick
	for i := range lines {
		for _, t := range levels {
			ticks = append(ticks, tick{r.level(i, t.at), t.label})
		}
	}
	// Each lock has shading of its own: servers that died take different times to come back.
	for i, l := range lines {
		top, bottom := r.place(i, 1), r.place(i, 0)
		for _, w := range mergeWindows(l.Series.Faults, seconds*1000) {
			from, to := f.x(w.FromMS/1000), f.x(w.ToMS/1000)
			f.fill(inkFault, point{from, bottom}, point{to, bottom}, point{to, top}, point{from, top})
		}
	}
	f.across(ticks)
	return r
}

// named ends the figure, with the locks' names above the strips.
func (r rows) named(title, scenario string) []byte {
	said := []string{title + ", " + scenario}
	for i, l := range r.lines {
		r.text(point{leftMargin + 1, r.level(i, 1) - 4}, clip(l.Name, 34), "", "", "name "+string(l.Ink))
		said = append(said, l.Name)
	}
	return r.sized(figureWidth, r.bottom+axisHeight, "img", strings.Join(said, "; "))
}

// timeSteps are round numbers from 0 to high.
func timeSteps(high float64) []tick {
	step := roundUp(high/8, 1, 2, 5)
	digits := max(0, -int(math.Floor(math.Log10(step))))
	var ticks []tick
	for i := 0; float64(i)*step <= high*1.0001; i++ {
		v := float64(i) * step
		ticks = append(ticks, tick{v, strconv.FormatFloat(v, 'f', digits, 64)})
	}
	return ticks
}

// roundUp rounds to one of the choices times a power of ten.
func roundUp(v float64, choices ...float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range choices {
		if v <= m*power*1.0001 {
			return m * power
		}
	}
	return 10 * power
}

// mergeWindows joins windows that overlap, so that each time is shaded once.
func mergeWindows(windows []series.Window, endMS float64) []series.Window {
	var merged []series.Window
	for _, w := range windows { // they are sorted by their beginning
		w.FromMS, w.ToMS = max(w.FromMS, 0), min(w.ToMS, endMS)
		if !(w.ToMS > w.FromMS) {
			continue
		}
		if n := len(merged); n > 0 && w.FromMS <= merged[n-1].ToMS {
			merged[n-1].ToMS = max(merged[n-1].ToMS, w.ToMS)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// number writes an axis label: 0.1, 1, 2,500, 10k, 2.5M, so that none is wide.
func number(v float64) string {
	for _, unit := range []struct {
		from, is float64
		name     string
	}{{1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {10_000, 1000, "k"}} {
		if v >= unit.from {
			return strconv.FormatFloat(math.Round(v/unit.is*100)/100, 'f', -1, 64) + unit.name
		}
	}
	if v >= 1000 {
		whole := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
		return whole[:len(whole)-3] + "," + whole[len(whole)-3:]
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// clip shortens a name to n letters, with an ellipsis in the middle: names of locks differ at both ends.
func clip(name string, n int) string {
	letters := []rune(name)
	if len(letters) <= n {
		return name
	}
	return string(letters[:n/2]) + "…" + string(letters[len(letters)-(n-n/2-1):])
}
