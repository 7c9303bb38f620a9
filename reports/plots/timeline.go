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

// laneRows is how many rows of requests and waits a lane has at most. What is believed, ordered
// and hosted is drawn in any case.
const laneRows = 5

// lane is what somebody did: steps, and in which row each is drawn.
type lane struct {
	name  string
	steps []series.Step
	at    []int
	rows  int
	more  int // steps that are left out
}

// Timeline draws a scene: a lane for everybody who did something, the moment as a line through
// all of them, and behind them the time in which a fault was in force. It tells whether there is
// any.
func Timeline(say *lang.Lang, title string, s series.Scene) (drawing []byte, shaded bool) {
	from, to := -20.0, max(10, s.LastsMS*1.02)
	for _, step := range s.Steps {
		if step.What != "match" && step.What != "fault" {
			from = min(from, max(step.FromMS, -100))
			if !math.IsInf(step.ToMS, 0) {
				room := 50.0
				if step.What == "hold" && s.LastsMS == 0 {
					room = 300 // how long two believe at once
				}
				to = max(to, min(step.ToMS, s.LastsMS+room))
			}
		}
	}
	s.Steps = slices.DeleteFunc(slices.Clone(s.Steps), func(step series.Step) bool { return step.ToMS < from || step.FromMS > to })
	span := to - from
	lanes := lanesOf(s, from, span*timelineRight/(timelineWidth-timelineLeft-timelineRight))
	height := 0.0
	for _, l := range lanes {
		height += nameHeight + barHeight*float64(l.rows) + 4
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
	f := frameOf(timelineWidth, timelineLeft, height, timelineRight, span, say.Text("milliseconds from the moment"), ticks)
	var faults []series.Window
	for _, step := range s.Steps {
		if step.What == "fault" {
			faults = append(faults, series.Window{FromMS: step.FromMS - from, ToMS: step.ToMS - from})
		}
	}
	for _, w := range mergeWindows(faults, span) {
		x0, x1 := f.x(w.FromMS), f.x(w.ToMS)
		f.fill(inkFault, point{x0, f.bottom}, point{x1, f.bottom}, point{x1, topMargin}, point{x0, topMargin})
		shaded = true
	}
	inks := map[string]Ink{"match": "k0 soft", "wait": "k0 soft", "hold": "k1", "order": "k2 soft", "room": "k3 soft", "node": inkMark + " soft", "fault": "k5"}
	f.stroke(pen{inkMark, 1.4, "4 2"}, []point{{f.x(-from), topMargin}, {f.x(-from), f.bottom}}) // below the words
	y := topMargin
	for _, l := range lanes {
		name := Clip(say.Term(l.name), 40)
		if l.more > 0 {
			name = say.Sprintf("%s, %d more", name, l.more)
		}
		f.text(point{f.left + 1, y + nameHeight - 4}, name, "", "", "name k0")
		for i, step := range l.steps {
			x0, x1 := f.x(max(step.FromMS, from)-from), f.x(min(step.ToMS, to)-from)
			x1 = max(x1, x0+2)
			top := y + nameHeight + barHeight*float64(l.at[i])
			title := say.Sprintf("%s: %s, %+.1f ms", say.Term(l.name), say.Tell(step.Text), step.FromMS)
			if step.ToMS > step.FromMS && !math.IsInf(step.ToMS, 0) {
				title = say.Sprintf("%s: %s, %+.1f to %+.1f ms", say.Term(l.name), say.Tell(step.Text), step.FromMS, step.ToMS)
			}
			fmt.Fprintf(f, `<g><title>%s</title>`, escape(title))
			ink, word := inks[step.What], "small"
			if step.About {
				ink, word = Ink(strings.TrimSuffix(string(ink), " soft")), "small name k0"
			}
			name := say.Term(step.What)
			bar := []point{{x0, top + 9}, {x1, top + 9}, {x1, top + 2}, {x0, top + 2}}
			const tip, middle = 4, 5.5 // a bar that goes on beyond the drawing has a point there
			if step.FromMS < from {
				bar = append(bar, point{x0 - tip, top + middle})
			}
			if step.ToMS > to {
				bar = slices.Insert(bar, 2, point{x1 + tip, top + middle})
				x1 += tip
				name += " →"
			}
			f.fill(ink, bar...)
			f.text(point{x1 + 2, top + 9}, name, "", "", word)
			f.WriteString("</g>")
		}
		y += nameHeight + barHeight*float64(l.rows) + 4
	}
	return f.end(say.Sprintf("Around the moment: %s", title)), shaded
}

// lanesOf are the lanes of a scene, which is drawn from a time on; a word needs the given time
// beside its bar.
func lanesOf(s series.Scene, from, word float64) []*lane {
	var lanes []*lane
	for _, step := range s.Steps {
		i := slices.IndexFunc(lanes, func(l *lane) bool { return l.name == step.Who })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, &lane{name: step.Who})
		}
		lanes[i].steps = append(lanes[i].steps, step)
	}
	for _, l := range lanes {
		l.fit(from, word, s.LastsMS)
	}
	rank := func(name string) int {
		return slices.IndexFunc([]string{"faults", "players", "master", "", "worker"}, func(p string) bool {
			return p == "" && !strings.HasPrefix(name, "worker") || p != "" && strings.HasPrefix(name, p)
		})
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int {
		return cmp.Or(rank(a.name)-rank(b.name), strings.Compare(a.name, b.name))
	})
	return lanes
}

// fit gives every step a row that is free then. Requests and waits get no more than laneRows:
// those nearest to the moment, of those in it the longest, and what the moment is about.
func (l *lane) fit(from, word, lasts float64) {
	type place struct{ begin, end float64 }
	rank := func(s series.Step) (distance, within float64) {
		if s.About || s.What != "match" && s.What != "wait" {
			return -1, 0
		}
		return max(s.FromMS-lasts, -s.FromMS, 0), min(s.ToMS, lasts) - max(s.FromMS, 0)
	}
	slices.SortStableFunc(l.steps, func(a, b series.Step) int {
		near, long := rank(a)
		far, short := rank(b)
		return cmp.Or(cmp.Compare(near, far), cmp.Compare(short, long))
	})
	var rows [][]place
	var drawn []series.Step
	for _, step := range l.steps {
		p := place{max(step.FromMS, from), max(step.ToMS, step.FromMS, from) + word}
		row := slices.IndexFunc(rows, func(taken []place) bool {
			return !slices.ContainsFunc(taken, func(t place) bool { return p.begin < t.end && t.begin < p.end })
		})
		if distance, _ := rank(step); row < 0 && distance >= 0 && len(rows) >= laneRows {
			l.more++
			continue
		}
		if row < 0 {
			row, rows = len(rows), append(rows, nil)
		}
		rows[row] = append(rows[row], p)
		drawn, l.at = append(drawn, step), append(l.at, row)
	}
	l.steps, l.rows = drawn, len(rows)
}
