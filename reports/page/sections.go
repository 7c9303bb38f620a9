package page

import (
	"html/template"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// sectionOf is a group of figures, one for each scenario.
type sectionOf struct {
	Title, Note string
	Locks       []legendEntry
	Figures     []figure
}

type legendEntry struct{ Name, Ink string }

type figure struct {
	Scenario, Note string
	SVG            template.HTML
}

// overTime draws what was served and how long it took, of the cells of one workload.
func overTime(say *lang.Lang, f *result.File, cells []cell, inks map[string]plots.Ink) (served, latency []sectionOf) {
	var lines []plots.Line
	var legend []legendEntry
	byScenario := map[string][]plots.Line{}
	for i := range cells {
		c := &cells[i]
		if len(c.Bins) == 0 {
			continue
		}
		offered, _ := c.Rows[0].Of("offered_per_s")
		line := plots.Line{Name: table.Plain(c.Lock), Ink: inks[c.Lock], OfferedPerS: offered, Offered: c.offered, Series: c.Series}
		lines, byScenario[c.Scenario] = append(lines, line), append(byScenario[c.Scenario], line)
		if entry := (legendEntry{line.Name, string(line.Ink)}); !slices.Contains(legend, entry) {
			legend = append(legend, entry)
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	scale := plots.ScaleOf(lines)
	section := func(title, note string, draw func(*lang.Lang, string, []plots.Line, plots.Scale) []byte) sectionOf {
		if workload := cells[0].Workload; workload != history.Matchmaking {
			title += ": " + table.Plain(workload)
		}
		s := sectionOf{Title: title, Note: note, Locks: legend}
		for _, scenario := range scenariosOf(f, cells) {
			if found := byScenario[scenario]; len(found) > 0 {
				drawing := draw(say, titleOf(say, f, scenario), found, scale)
				s.Figures = append(s.Figures, figure{titleOf(say, f, scenario), faultNote(say, found), template.HTML(drawing)}) //nolint:gosec // drawn and escaped by plots
			}
		}
		return s
	}
	served = []sectionOf{section(
		say.Text("Served over time"),
		say.Text("Per second, one strip for each lock. Dotted: the load. On top: failed. Marks below: violations. Shaded: the fault."), plots.Rate)}
	latency = []sectionOf{
		section(say.Text("Latency over time"), say.Text("Milliseconds. Solid: p99. Dotted: p50. Only what ended well."), plots.Latency),
		section(say.Text("Distribution of the latency"), say.Text("Milliseconds. Only what ended well."), plots.Percentiles),
	}
	return served, latency
}

// faultNote names the faults of a figure.
func faultNote(say *lang.Lang, lines []plots.Line) string {
	var names []string
	repeats := 0
	for _, l := range lines {
		repeats = max(repeats, l.Series.Repeats)
		for _, w := range l.Series.Faults {
			name := table.Plain(w.Kind)
			if !w.Proven {
				name = say.Sprintf("%s (not proven)", name)
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

// tablesOf are capacity and cost, one line for each lock, and the latencies under each scenario.
func tablesOf(say *lang.Lang, f *result.File, cells []cell) (all []template.HTML) {
	var names []string
	for _, name := range []string{"grants_per_s", "handoffs_per_s", "cpu_us_per_grant", "matches_per_s", "messages_per_acquire", "acquire_rtts", "cpus", "memory_mib"} {
		if slices.ContainsFunc(cells, func(c cell) bool { _, known := c.Median(name); return known }) {
			names = append(names, name)
		}
	}
	cost := table.Table{Title: say.Text("Capacity and cost"), Columns: []table.Column{{Title: say.Text("lock"), Key: true}}}
	for _, name := range names {
		cost.Columns = append(cost.Columns, column(say, name))
	}
	scenarios := scenariosOf(f, cells)
	latencies := []table.Table{{Title: say.Text("Requests: p50 · p99")}, {Title: say.Text("Acquisitions: p50 · p99")}}
	for i := range latencies {
		latencies[i].Columns = []table.Column{{Title: say.Text("lock"), Key: true}}
		for _, scenario := range scenarios {
			latencies[i].Columns = append(latencies[i].Columns, table.Column{Title: titleOf(say, f, scenario), Right: true})
		}
	}
	for _, lock := range locksOf(cells) {
		own := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.Lock != lock })
		row := []table.Cell{{Text: table.Plain(lock)}}
		for _, name := range names {
			row = append(row, table.Cell{Text: first(own, scenarios, name)})
		}
		cost.Rows = append(cost.Rows, row)
		for i, prefix := range []string{"request", "acquire"} {
			row := []table.Cell{{Text: table.Plain(lock)}}
			for _, scenario := range scenarios {
				text := first(own, []string{scenario}, prefix+"_p50_ms") + " · " + first(own, []string{scenario}, prefix+"_p99_ms")
				if text == table.Absent+" · "+table.Absent {
					text = table.Absent
				}
				row = append(row, table.Cell{Text: text})
			}
			latencies[i].Rows = append(latencies[i].Rows, row)
		}
	}
	if len(names) > 0 {
		all = append(all, table.HTML(cost))
	}
	for _, t := range latencies {
		said := func(row []table.Cell) bool {
			return slices.ContainsFunc(row[1:], func(c table.Cell) bool { return c.Text != table.Absent })
		}
		if slices.ContainsFunc(t.Rows, said) {
			all = append(all, table.HTML(t))
		}
	}
	return all
}

// column is that of a figure.
func column(say *lang.Lang, name string) table.Column {
	f, _ := result.Lookup(name)
	return table.Column{Title: name, Note: say.Term(f.Means), Right: true}
}

// first is a figure under the first scenario that has it.
func first(cells []cell, scenarios []string, name string) string {
	f, _ := result.Lookup(name)
	for _, scenario := range scenarios {
		for i := range cells {
			if v, known := cells[i].Median(name); known && cells[i].Scenario == scenario {
				return table.Figure(f, v)
			}
		}
	}
	return table.Absent
}

// tradeoff is the plot of what a lock lets happen against what it refuses.
type tradeoff struct {
	SVG   template.HTML
	Clean []string // what has no mark, because nothing went wrong
}

// tradeoffOf has no plot where nothing went wrong.
func tradeoffOf(say *lang.Lang, f *result.File, cells []cell, inks map[string]plots.Ink) (t tradeoff) {
	counted, p99 := []string{"duplicates"}, "request_p99_ms"
	if cells[0].Workload != history.Matchmaking {
		counted, p99 = []string{"overlaps", "tokens_back", "stale_writes", "lost_updates"}, "acquire_p99_ms"
	}
	measure := say.Term(counted[0])
	locks := locksOf(cells)
	clean := map[string][]string{}
	var points []plots.Point
	for i := range cells {
		c := &cells[i]
		served, known := c.Median("served")
		if !known {
			continue
		}
		p := plots.Point{
			Lock: table.Plain(c.Lock), Scenario: titleOf(say, f, c.Scenario), Ink: inks[c.Lock], Mark: slices.Index(locks, c.Lock), Href: "#" + idOf(c.Key),
			X: (1 - served) * 100, Unsure: !c.Worst().Decided() || c.Worst().Verdict.Safety.State == result.Unknown,
		}
		for _, name := range counted {
			n, _ := c.Median(name)
			p.Y = max(p.Y, n)
		}
		p.Unsafe = p.Y == 0 && c.Worst().Verdict.Safety.State == result.Failed
		p.P99MS, _ = c.Median(p99)
		if p.X == 0 && p.Y == 0 && !p.Unsafe && !p.Unsure {
			clean[p.Lock] = append(clean[p.Lock], p.Scenario)
			continue
		}
		p.Words = say.Sprintf("%s, %s: %s %s, served %s, p99 %s", p.Lock, p.Scenario, measure, table.Count(p.Y), table.Share(served), table.Duration(p.P99MS))
		points = append(points, p)
	}
	if len(points) == 0 {
		return t
	}
	for _, lock := range locks {
		if names := clean[table.Plain(lock)]; len(names) > 0 {
			t.Clean = append(t.Clean, table.Plain(lock)+" ("+strings.Join(names, ", ")+")")
		}
	}
	t.SVG = template.HTML(plots.Tradeoff(say, measure, points)) //nolint:gosec // drawn and escaped by plots
	return t
}
