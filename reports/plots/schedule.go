package plots

import (
	"fmt"
	"unicode/utf8"

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
	const height, bar = 32.0, 11.0 // of a fault with its name, and of what stands for its time
	seconds := max(durationMS/1000, 0.001)
	f := newFrame(height*float64(max(len(all), 1)), rightMargin, seconds, say.Text("seconds since the measured part began"), timeSteps(seconds))
	at := func(ms float64) float64 { return f.x(min(max(ms, 0), durationMS) / 1000) }
	area := func(ink Ink, from, to, top, bottom float64) {
		f.fill(ink, point{from, bottom}, point{max(to, from+1), bottom}, point{max(to, from+1), top}, point{from, top})
	}
	if len(all) == 0 {
		f.text(point{leftMargin + 4, topMargin + 15}, say.Text("nothing is broken"), "", "", "name k0")
	}
	place := func(i int) (top, bottom float64) {
		bottom = topMargin + height*float64(i+1) - 3
		return bottom - bar, bottom
	}
	for i, p := range all {
		top, bottom := place(i)
		from, to := at(p.FromMS), at(p.ToMS)
		area(inkFault, from, to, top, bottom)
		f.stroke(pen{inkQuiet, 1, "3 3"}, []point{{from, top}, {to, top}, {to, bottom}, {from, bottom}, {from, top}})
		if p.NowMS > p.BeganMS {
			area(inkBad, at(p.BeganMS), at(p.NowMS), bottom-4, bottom)
		}
	}
	if nowMS >= 0 {
		x := at(nowMS)
		f.stroke(pen{inkMark, 1.6, ""}, []point{{x, topMargin - 3}, {x, f.bottom + 4}})
	}
	for i, p := range all {
		top, _ := place(i)
		name := fit(p.Name, f.right-leftMargin)
		f.text(point{max(leftMargin, min(at(p.FromMS), f.right-wide(name))), top - 4}, name, "", "", "name k0") // above the bar, which may be short
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

// wide is at least how wide a name is, also where the page enlarges it.
func wide(name string) (width float64) {
	for _, letter := range name {
		width += 8.2
		if letter >= 0x1100 { // Hangul
			width += 6
		}
	}
	return width
}

// fit shortens a name that has no room.
func fit(name string, room float64) string {
	n := utf8.RuneCountInString(name)
	shown := name
	for wide(shown) > room && n > 1 {
		n--
		shown = Clip(name, n)
	}
	return shown
}
