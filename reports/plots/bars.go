package plots

import (
	"strings"

	"locklab/reports/lang"
)

// Bar is the duplicates of one lock under a scenario.
type Bar struct {
	Name                           string
	Ink                            Ink
	Raced, Overlooked, Unreachable int64
	Note                           string // after the total, such as the rate
}

// Duplicates draws one bar for each lock, stacked by cause.
func Duplicates(say *lang.Lang, scenario string, bars []Bar, scale Scale) []byte {
	const row = 40.0
	high := float64(max(scale.DuplicatesMax, 1))
	step := max(roundUp(high/5, 1, 2, 5), 1)
	var ticks []tick
	for v := 0.0; v <= high*1.0001; v += step {
		ticks = append(ticks, tick{v, number(v)})
	}
	f := newFrame(row*float64(max(len(bars), 1)), rightMargin, high, say.Text("duplicates in the measured part"), ticks)
	label := make([]string, len(bars))
	for i, b := range bars {
		top := topMargin + row*float64(i)
		low, from := top+0.88*row, int64(0)
		for _, part := range []struct {
			n   int64
			ink Ink
		}{{b.Raced, "k-raced"}, {b.Overlooked, "k-overlooked"}, {b.Unreachable, "k-unreachable"}} {
			if part.n <= 0 {
				continue
			}
			x0, x1 := f.x(float64(from)), f.x(float64(from+part.n))
			x1 = max(x1, x0+1.5) // one duplicate beside thousands must still be seen
			f.fill(part.ink, point{x0, low}, point{x1, low}, point{x1, low - 0.4*row}, point{x0, low - 0.4*row})
			from += part.n
		}
		f.stroke(pen{inkAxis, 1, ""}, []point{{leftMargin, low}, {leftMargin, low - 0.4*row}})
		note := number(float64(from))
		if from > 0 && b.Note != "" {
			note += " (" + b.Note + ")"
		}
		f.text(point{leftMargin + 1, top + 0.38*row}, Clip(b.Name, 34), "", "", "name "+string(b.Ink))
		f.text(point{f.right - 1, top + 0.38*row}, note, "end", "", "")
		label[i] = say.Sprintf("%s %d raced, %d overlooked, %d unreachable", b.Name, b.Raced, b.Overlooked, b.Unreachable)
	}
	return f.end(say.Sprintf("Duplicates under %s: %s.", scenario, strings.Join(label, "; ")))
}
