package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/series"
)

// A timeline is as wide as a phone, where its letters are as large as they are drawn. It has no
// vertical axis.
const (
	timelineWidth = 360.0
	timelineLeft  = 14
	timelineRight = 58.0 // room for the word of a bar that ends there
	barHeight     = 13.0
)

// lane has the steps of one node, or the faults: each in a row that is free then.
type lane struct {
	name  string
	steps []series.Step
	at    []int     // the row of each
	ends  []float64 // of each row, where its last word ends
}

// Timeline draws a scene: a lane for each node that did something, the moment as a line through all of
// them, and the time of faults behind them. It tells whether there is any.
func Timeline(say *lang.Lang, title string, s series.Scene) (drawing []byte, shaded bool) {
	from, to := -20.0, max(10, s.LastsMS*1.02)
	for _, step := range s.Steps {
		if step.What != "fault" {
			from = min(from, max(step.FromMS, -300))
			if !math.IsInf(step.ToMS, 0) {
				to = max(to, min(step.ToMS, s.LastsMS+300))
			}
		}
	}
	span := to - from
	var faults []series.Window
	for _, step := range s.Steps {
		if step.What == "fault" {
			faults = append(faults, series.Window{FromMS: step.FromMS - from, ToMS: step.ToMS - from})
		}
	}
	faults = mergeWindows(faults, span)
	s.Steps = slices.DeleteFunc(slices.Clone(s.Steps),
		func(step series.Step) bool { return step.ToMS < from || step.FromMS > to })
	lanes := lanesOf(s.Steps, from, span*timelineRight/(timelineWidth-timelineLeft-timelineRight))
	height := 0.0
	for _, l := range lanes {
		height += nameHeight + barHeight*float64(len(l.ends)) + 4
	}
	var ticks []tick
	step := roundUp(span/6, 1, 2, 5)
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		label := "0"
		if v != 0 {
			label = fmt.Sprintf("%+g", v)
		}
		ticks = append(ticks, tick{v - from, label})
	}
	f := newFrame(timelineWidth, timelineLeft, height, timelineRight, span,
		say.Text("milliseconds from the moment"), ticks)
	for _, w := range faults {
		x0, x1 := f.x(w.FromMS), f.x(w.ToMS)
		f.fill(inkFault, point{x0, f.bottom}, point{x1, f.bottom}, point{x1, topMargin}, point{x0, topMargin})
	}
	f.stroke(pen{inkMark, 1.4, "4 2"}, []point{{f.x(-from), topMargin}, {f.x(-from), f.bottom}}) // below the words
	y := topMargin
	for _, l := range lanes {
		f.text(point{f.left + 1, y + nameHeight - 4}, Clip(say.Term(l.name), 40), "", "", "name k0")
		for i, step := range l.steps {
			f.step(say, step, y+nameHeight+barHeight*float64(l.at[i]), from, to)
		}
		y += nameHeight + barHeight*float64(len(l.ends)) + 4
	}
	return f.end(say.Sprintf("Around the moment: %s", title)), len(faults) > 0
}

// step draws a bar with its word. A bar that goes on beyond the drawing has a point there.
func (f *frame) step(say *lang.Lang, step series.Step, top, from, to float64) {
	inks := map[string]Ink{
		"wait": "k0 soft", "hold": "k1", "order": "k2 soft", "room": "k3 soft", "node": inkMark + " soft", "fault": "k5",
	}
	x0, x1 := f.x(max(step.FromMS, from)-from), f.x(min(step.ToMS, to)-from)
	x1 = max(x1, x0+2)
	title := fmt.Sprintf("%s: %s, %+.1f", say.Term(step.Who), say.Tell(step.Begins), step.FromMS)
	if step.ToMS > step.FromMS && !math.IsInf(step.ToMS, 0) {
		title += fmt.Sprintf(" … %+.1f", step.ToMS)
	}
	fmt.Fprintf(f, `<g><title>%s</title>`, escape(title+" ms"))
	name := say.Term(step.What)
	bar := []point{{x0, top + 9}, {x1, top + 9}, {x1, top + 2}, {x0, top + 2}}
	const tip, middle = 4, 5.5
	if step.FromMS < from {
		bar = append(bar, point{x0 - tip, top + middle})
	}
	if step.ToMS > to {
		bar = slices.Insert(bar, 2, point{x1 + tip, top + middle})
		x1 += tip
		name += " →"
	}
	f.fill(cmp.Or(inks[step.What], "k4"), bar...)
	f.text(point{x1 + 2, top + 9}, name, "", "", "small")
	f.WriteString("</g>")
}

// lanesOf are the lanes of steps, of which the drawing begins at a time; a word needs the given time
// beside its bar.
func lanesOf(steps []series.Step, from, word float64) []*lane {
	var lanes []*lane
	for _, step := range steps {
		i := slices.IndexFunc(lanes, func(l *lane) bool { return l.name == step.Who })
		if i < 0 {
			i, lanes = len(lanes), append(lanes, &lane{name: step.Who})
		}
		l := lanes[i]
		row := slices.IndexFunc(l.ends, func(end float64) bool { return end <= step.FromMS })
		if row < 0 {
			row, l.ends = len(l.ends), append(l.ends, 0)
		}
		l.ends[row] = max(step.ToMS, step.FromMS, from) + word
		l.steps, l.at = append(l.steps, step), append(l.at, row)
	}
	rank := func(l *lane) int {
		return slices.IndexFunc([]string{"fault", "master", "", "worker"}, func(p string) bool {
			return p == "" && !strings.HasPrefix(l.name, "worker") || p != "" && strings.HasPrefix(l.name, p)
		})
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.name, b.name)) })
	return lanes
}
