package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/series"
)

// Timeline draws a scene: a lane for everybody who did something, the moment as a line
// through all of them, and the whole behind shaded if a fault was in force.
func Timeline(say *lang.Lang, s series.Scene) []byte {
	const bar = 13.0
	from, to := -20.0, max(10, s.LastsMS*1.02)
	for _, step := range s.Steps {
		if step.What != "match" && step.What != "fault" {
			from = min(from, max(step.FromMS, -100))
			if !math.IsInf(step.ToMS, 0) {
				to = max(to, min(step.ToMS, s.LastsMS+50))
			}
		}
	}
	type lane struct {
		name string
		ends []float64 // of its rows
		at   []int     // the row of each of its steps
		of   []series.Step
	}
	var lanes []*lane
	for _, step := range s.Steps {
		i := slices.IndexFunc(lanes, func(l *lane) bool { return l.name == step.Who })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, &lane{name: step.Who})
		}
		l := lanes[i]
		begin := max(step.FromMS, from)
		row := slices.IndexFunc(l.ends, func(end float64) bool { return end <= begin })
		if row < 0 {
			row = len(l.ends)
			l.ends = append(l.ends, 0)
		}
		l.ends[row] = max(step.ToMS, begin) + (to-from)/9 // room for its word
		l.at, l.of = append(l.at, row), append(l.of, step)
	}
	rank := func(name string) int {
		return slices.IndexFunc([]string{"faults", "players", "master", "", "worker"}, func(p string) bool {
			return p == "" && !strings.HasPrefix(name, "worker") || p != "" && strings.HasPrefix(name, p)
		})
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int {
		if d := rank(a.name) - rank(b.name); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	height := 0.0
	for _, l := range lanes {
		height += nameHeight + bar*float64(len(l.ends)) + 4
	}
	span := to - from
	var ticks []tick
	step := roundUp(span/8, 1, 2, 5)
	for v := math.Ceil(from/step) * step; v <= to; v += step {
		label := "0"
		if v != 0 {
			label = fmt.Sprintf("%+g", v)
		}
		ticks = append(ticks, tick{v - from, label})
	}
	f := newFrame(height, 46, span, say.Text("milliseconds from the moment"), ticks)
	if len(s.Faults) > 0 && s.LastsMS == 0 { // else its own lane says when
		f.fill(inkFault, point{leftMargin, f.bottom}, point{f.right, f.bottom}, point{f.right, topMargin}, point{leftMargin, topMargin})
	}
	inks := map[string]Ink{"match": "k0", "wait": "k0", "hold": "k1", "order": "k2", "room": "k3", "node": inkMark, "fault": inkFault}
	y := topMargin
	for _, l := range lanes {
		f.text(point{leftMargin + 1, y + nameHeight - 4}, Clip(say.Term(l.name), 40), "", "", "name k0")
		for i, step := range l.of {
			x0, x1 := f.x(max(step.FromMS, from)-from), f.x(min(step.ToMS, to)-from)
			x1 = max(x1, x0+2)
			top := y + nameHeight + bar*float64(l.at[i])
			soft := " soft"
			if step.What == "hold" || step.What == "fault" {
				soft = ""
			}
			fmt.Fprintf(f, `<g><title>%s</title>`, escape(say.Sprintf("%s: %s, %+.1f ms", say.Term(l.name), say.Tell(step.Text), step.FromMS)))
			f.fill(inks[step.What]+Ink(soft), point{x0, top + 9}, point{x1, top + 9}, point{x1, top + 2}, point{x0, top + 2})
			f.text(point{x1 + 2, top + 9}, say.Term(step.What), "", "", "small")
			f.WriteString("</g>")
		}
		y += nameHeight + bar*float64(len(l.ends)) + 4
	}
	f.stroke(pen{inkMark, 1.4, "4 2"}, []point{{f.x(-from), topMargin}, {f.x(-from), f.bottom}})
	return f.end(say.Sprintf("Around the moment: %s", say.Tell(s.Text)))
}
