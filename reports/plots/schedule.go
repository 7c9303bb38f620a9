package plots

import (
	"fmt"

	"locklab/reports/lang"
)

// Planned is a fault on the schedule of a run.
type Planned struct {
	Name           string
	FromMS, ToMS   float64 // as it is planned, since the measured part began
	BeganMS, NowMS float64 // when it was proven to begin, and until when so far; both 0 before
}

// Schedule draws what a scenario does in a run, and where it is. Now is in milliseconds since
// the measured part began; the warm-up before it is negative.
func Schedule(say *lang.Lang, all []Planned, durationMS, nowMS float64) []byte {
	const height = 22.0
	seconds := max(durationMS/1000, 0.001)
	f := newFrame(height*float64(max(len(all), 1)), rightMargin, seconds, say.Text("seconds since the measured part began"), timeSteps(seconds))
	at := func(ms float64) float64 { return f.x(min(max(ms, 0), durationMS) / 1000) }
	area := func(ink Ink, from, to, top, bottom float64) {
		f.fill(ink, point{from, bottom}, point{max(to, from+1), bottom}, point{max(to, from+1), top}, point{from, top})
	}
	if len(all) == 0 {
		f.text(point{leftMargin + 4, topMargin + 15}, say.Text("nothing is broken"), "", "", "name k0")
	}
	for i, p := range all {
		top := topMargin + height*float64(i) + 2
		bottom := top + height - 4
		from, to := at(p.FromMS), at(p.ToMS)
		area(inkFault, from, to, top, bottom)
		f.stroke(pen{inkQuiet, 1, "3 3"}, []point{{from, top}, {to, top}, {to, bottom}, {from, bottom}, {from, top}})
		if p.NowMS > p.BeganMS {
			area(inkBad, at(p.BeganMS), at(p.NowMS), bottom-3, bottom)
		}
		x, anchor := from+5, ""
		if from > (leftMargin+f.right)/2 {
			x, anchor = to-5, "end"
		}
		f.text(point{x, top + 12.5}, p.Name, anchor, "", "name k0")
	}
	if nowMS >= 0 {
		x := at(nowMS)
		f.stroke(pen{inkMark, 1.6, ""}, []point{{x, topMargin - 3}, {x, f.bottom + 4}})
	}
	return f.end(say.Sprintf("The run's schedule: %s; now at %.1f seconds.", names(say, all), max(nowMS, 0)/1000))
}

func names(say *lang.Lang, all []Planned) string {
	if len(all) == 0 {
		return say.Text("nothing is broken")
	}
	var words []string
	for _, p := range all {
		words = append(words, fmt.Sprintf("%s (%.1f–%.1f s)", p.Name, p.FromMS/1000, p.ToMS/1000))
	}
	return say.List(words)
}
