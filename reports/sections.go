package reports

import (
	"cmp"
	"html/template"
	"slices"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/reports/series"
)

// plotSection is a group of figures, one for each scenario.
type plotSection struct {
	Title, Note string
	Causes      bool // the legend is that of the causes of duplicates
	Locks       []legendEntry
	Figures     []figureBox
}

type legendEntry struct{ Name, Ink string }

type figureBox struct {
	Scenario string
	Note     string
	SVG      template.HTML
}

func sectionsOf(say *lang.Lang, f result.File, all []series.Series) []plotSection {
	inks := inksOf(f.Results)
	var sections []plotSection
	workloads := workloadsOf(f.Results)
	for _, workload := range workloads {
		suffix := ""
		if len(workloads) > 1 {
			suffix = ": " + plain(workload)
		}
		var lines []plots.Line
		byScenario := map[string][]plots.Line{}
		var legend []legendEntry
		seen := map[string]bool{}
		for i, r := range f.Results {
			if r.Workload != workload || len(all[i].Bins) == 0 {
				continue
			}
			s := all[i]
			s.Faults = windowsOf(r.Faults, s.DurationMS)
			line := plots.Line{Name: plain(r.Lock), Ink: inks[r.Lock], OfferedPerS: r.OfferedPerS, Offered: offeredOf(r), Series: s}
			lines = append(lines, line)
			byScenario[r.Scenario] = append(byScenario[r.Scenario], line)
			if !seen[r.Lock] {
				seen[r.Lock] = true
				legend = append(legend, legendEntry{line.Name, string(line.Ink)})
			}
		}
		rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
		scale := plots.ScaleOf(lines)
		if s, ok := duplicateSection(say, rows, inks, scale, suffix); ok {
			sections = append(sections, s)
		}
		if len(lines) == 0 {
			continue
		}
		rate := say.Text("Successful acquisitions per second, one strip for each lock; dotted: the offered rate. The shaded time is that of the fault.")
		if violationOf(rows).Violation == "duplicate" {
			rate = say.Text("Successful matches per second, one strip for each lock; dotted: the offered rate. The shaded time is that of the fault.")
		}
		kinds := []struct {
			title, note string
			draw        func(*lang.Lang, string, []plots.Line, plots.Scale) []byte
			overTime    bool // with the time of the fault shaded
		}{
			{
				say.Text("Achieved rate over time") + suffix,
				rate + " " + say.Text("Short marks below a strip: a violation began (a duplicate that was raced or overlooked, an overlap, or a token that did not grow). A second area on top: requests that failed. Bursts after a stop are cut off at the top."),
				plots.Rate, true,
			},
			{
				say.Text("Latency over time") + suffix,
				say.Text("In milliseconds on a logarithmic axis, by the moment when a request was due. Solid: p99. Dotted: p50. Requests that failed are not in it: where there is no line, none that was due then was served."),
				plots.Latency, true,
			},
			{
				say.Text("Distribution of the latency") + suffix,
				say.Text("In milliseconds; both axes are logarithmic, so that the slowest requests have as much room as the others. Requests that failed are not in it."),
				plots.Percentiles, false,
			},
		}
		for _, kind := range kinds {
			section := plotSection{Title: kind.title, Note: kind.note, Locks: legend}
			for _, scenario := range scenariosOf(rows) {
				if found := byScenario[scenario]; len(found) > 0 {
					figure := figureBox{
						Scenario: plain(scenario),
						SVG:      template.HTML(kind.draw(say, plain(scenario), found, scale)), //nolint:gosec // drawn and escaped by plots
					}
					if kind.overTime {
						figure.Note = faultNote(say, found)
					}
					section.Figures = append(section.Figures, figure)
				}
			}
			sections = append(sections, section)
		}
	}
	return sections
}

func duplicateSection(say *lang.Lang, rows []result.Row, inks map[string]plots.Ink, scale plots.Scale, suffix string) (plotSection, bool) {
	section := plotSection{
		Title:  say.Text("Duplicates by cause") + suffix,
		Note:   say.Text("Those in the measured part: the ones of the warm-up are not in it. The lock is judged on what was raced or overlooked; unreachable ones are the price of going on while cut off."),
		Causes: true,
	}
	byScenario := map[string][]plots.Bar{}
	for _, r := range rows {
		d := r.Duplicates
		if d == nil {
			continue
		}
		bar := plots.Bar{Name: plain(r.Lock), Ink: inks[r.Lock], Raced: d.Raced, Overlooked: d.Overlooked, Unreachable: d.Unreachable}
		if r.DuplicatesPer1000 != nil {
			bar.Note = say.Sprintf("%s per 1,000 matches", figure(*r.DuplicatesPer1000))
		}
		scale.DuplicatesMax = max(scale.DuplicatesMax, d.Total)
		byScenario[r.Scenario] = append(byScenario[r.Scenario], bar)
	}
	for _, scenario := range scenariosOf(rows) {
		if bars := byScenario[scenario]; len(bars) > 0 {
			section.Figures = append(section.Figures, figureBox{
				Scenario: plain(scenario),
				SVG:      template.HTML(plots.Duplicates(say, plain(scenario), bars, scale)), //nolint:gosec // drawn and escaped by plots
			})
		}
	}
	return section, len(section.Figures) > 0
}

// offeredOf are the rates of a row that were changed by hand; none if it had only one.
func offeredOf(r result.Row) (steps []plots.Offered) {
	if r.RateAtFirst <= 0 {
		return nil
	}
	steps = plots.Offer(nil, 0, r.RateAtFirst)
	for _, rate := range r.Rates {
		steps = plots.Offer(steps, rate.AtMS, rate.PerS)
	}
	return steps
}

// windowsOf is when the faults lasted, as far as that is known, the first first.
func windowsOf(faults []result.Fault, endMS float64) []series.Window {
	var out []series.Window
	for _, f := range faults {
		w := series.Window{Kind: f.Kind, Target: f.Target, FromMS: f.BeganMS, ToMS: f.EndedMS, Proven: f.Proven}
		if w.FromMS == result.Never {
			w.FromMS = f.AskedMS
		}
		if w.ToMS == result.Never {
			w.ToMS = endMS
		}
		if w.ToMS > w.FromMS {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return out
}

// faultNote says below a figure what the shaded time is.
func faultNote(say *lang.Lang, lines []plots.Line) string {
	var names []string
	repeats := 0
	for _, l := range lines {
		repeats = max(repeats, l.Series.Repeats)
		for _, w := range l.Series.Faults {
			name := plain(w.Kind)
			if !w.Proven {
				name = say.Sprintf("%s (not proven)", name)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	note := say.Text("no fault")
	if len(names) > 0 {
		note = say.Sprintf("shaded: %s", say.List(names))
	}
	if repeats > 1 {
		note = say.Sprintf("%s; mean of %d repeats", note, repeats)
	}
	return note
}
