package page

import (
	"html/template"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// section is a group of plots, one for each scenario.
type section struct {
	Title, Note string
	Locks       []legendEntry
	Figures     []figure
}

type legendEntry struct{ Name, Ink string }

type figure struct {
	Scenario, Note string
	SVG            template.HTML
}

// overTime draws the rate and the latency of the cells of one workload.
func (r *report) overTime(say *lang.Lang, cells []cell, inks map[string]plots.Ink) {
	var lines []plots.Line
	var legend []legendEntry
	byScenario := map[string][]plots.Line{}
	for i := range cells {
		c := &cells[i]
		if len(c.Bins) == 0 {
			continue
		}
		line := plots.Line{Name: table.Plain(c.Lock), Ink: inks[c.Lock], Offered: c.offered, Series: c.Series}
		lines, byScenario[c.Scenario] = append(lines, line), append(byScenario[c.Scenario], line)
		if entry := (legendEntry{line.Name, string(line.Ink)}); !slices.Contains(legend, entry) {
			legend = append(legend, entry)
		}
	}
	if len(lines) == 0 {
		return
	}
	scale, workload := plots.ScaleOf(lines), cells[0].Workload
	add := func(to *[]section, title, note string, draw func(*lang.Lang, string, []plots.Line, plots.Scale) []byte) {
		if workload != history.Matchmaking {
			title += ": " + table.Plain(workload)
		}
		s := section{Title: title, Note: note, Locks: legend}
		for _, scenario := range r.Scenarios(workload) {
			if found := byScenario[scenario]; len(found) > 0 {
				drawing := draw(say, table.Plain(r.View.Title(scenario)), found, scale)
				svg := template.HTML(drawing) //nolint:gosec // drawn and escaped by plots
				s.Figures = append(s.Figures, figure{r.View.Title(scenario), faultNote(say, found), svg})
			}
		}
		*to = append(*to, s)
	}
	add(&r.Served, say.Text("Served over time"), say.Text("Per second, one strip for each lock. Dotted: the load. "+
		"On top: failed. Marks below: violations. Shaded: the fault."), plots.Rate)
	add(&r.Latency, say.Text("Latency over time"),
		say.Text("Milliseconds. Solid: p99. Dotted: p50. Only what ended well."), plots.Latency)
}

// faultNote names the faults of a plot.
func faultNote(say *lang.Lang, lines []plots.Line) string {
	var names []string
	repeats := 0
	for _, l := range lines {
		repeats = max(repeats, l.Series.Repeats)
		for _, w := range l.Series.Faults {
			name := table.Plain(w.Kind)
			if !w.Proven {
				name = say.Sprintf("%s: not proven", name)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if repeats > 1 {
		names = append(names, say.Sprintf("mean of %d repeats", repeats))
	}
	return strings.Join(names, ", ")
}

// tradeoff is the plot of violations against failed requests.
type tradeoff struct {
	SVG   template.HTML
	Clean []string // locks and scenarios without either, which have no mark
}

// tradeoffOf returns no plot if nothing went wrong.
func tradeoffOf(say *lang.Lang, v *view.View, cells []cell, inks map[string]plots.Ink) (t tradeoff) {
	p99 := "acquire_p99_ms"
	if is, _ := history.WorkloadOf(cells[0].Workload); is.Players {
		p99 = "request_p99_ms"
	}
	locks := v.Locks(cells[0].Workload)
	var points []plots.Point
	for i := range cells {
		c := &cells[i]
		served, known := c.Median("served")
		if !known {
			continue
		}
		worst := c.Worst()
		p := plots.Point{
			Lock: table.Plain(c.Lock), Scenario: table.Plain(v.Title(c.Scenario)), Href: "#" + idOf(c.Key),
			Ink: inks[c.Lock], Mark: slices.Index(locks, c.Lock), X: (1 - served) * 100,
		}
		p.P99MS, _ = c.Median(p99)
		switch safety := worst.Verdict.Safety; {
		case worst.Decided() && safety.State == result.Failed:
			p.Y = safety.N
		case !worst.Decided() || safety.State == result.Unknown:
			p.Unsure = true
		case p.X == 0:
			t.Clean = append(t.Clean, p.Lock+" ("+p.Scenario+")")
			continue
		}
		p.Words = say.Sprintf("%s, %s: violations %s, served %s, p99 %s", p.Lock, p.Scenario, table.Count(p.Y),
			table.Share(served), table.Duration(p.P99MS))
		points = append(points, p)
	}
	if len(points) > 0 {
		t.SVG = template.HTML(plots.Tradeoff(say, points)) //nolint:gosec // drawn and escaped by plots
	}
	return t
}
