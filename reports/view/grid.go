package view

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/reports/table"
	"locklab/reports/why"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// across makes a table with a line for each lock of a workload, and a column for each of its scenarios.
func (v *View) across(
	workload string, head func(i int, scenario string) table.Column, of func(result.Key) table.Cell,
) (t table.Table) {
	t.Columns = table.Heads(v.say.Titles("=lock")...)
	scenarios := v.scenarios(workload)
	for i, s := range scenarios {
		t.Columns = append(t.Columns, head(i, s))
	}
	for _, lock := range v.locks(workload) {
		row := table.Row(lock)
		for _, s := range scenarios {
			row = append(row, of(result.Key{Lock: lock, Scenario: s, Workload: workload}))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// grid is the table of a workload's locks and scenarios, with the median time to acquire where nothing is broken,
// and the capacity.
func (v *View) grid(workload string) table.Table {
	head := func(_ int, s string) table.Column { return table.Column{Title: twoLines(v.title(s)), Note: s} }
	t := v.across(workload, head, v.gridCell)
	acquire, title := "acquire_p50_ms", v.say.Text("acquire\np50")
	if is, _ := history.WorkloadOf(workload); is.One {
		acquire, title = "handoff_p50_ms", v.say.Text("handoff\np50")
	}
	v.tail(&t, workload, title, acquire, []string{v.calm(workload)}, table.Duration)
	v.tail(&t, workload, v.say.Text("grants/s\nat most"), "grants_per_s", v.scenarios(workload), table.Rate)
	return t
}

// tail adds a column with the highest median of a figure under the scenarios, if any lock has one.
func (v *View) tail(t *table.Table, workload, title, figure string, scenarios []string, text func(float64) string) {
	var column []table.Cell
	measured := false
	for _, lock := range v.locks(workload) {
		best, has := 0.0, false
		for _, s := range scenarios {
			n, known := v.decided(result.Key{Lock: lock, Scenario: s, Workload: workload}, figure)
			best, has = max(best, n), has || known
		}
		cell := table.Cell{Text: table.Absent}
		if has {
			cell.Text, measured = text(best), true
		}
		column = append(column, cell)
	}
	if !measured {
		return
	}
	t.Columns = append(t.Columns, table.Column{Title: title, Right: true})
	for i, cell := range column {
		t.Rows[i] = append(t.Rows[i], cell)
	}
}

func (v *View) gridCell(k result.Key) (out table.Cell) {
	if c := v.cell(k); c != nil {
		out = table.Cell{Text: c.figure(), Mark: c.mark, Unexpected: c.unexpected, Note: v.told(c)}
		if v.o.Link != nil {
			out.Link = v.o.Link(k)
		}
	} else if i := slices.IndexFunc(v.f.Run.Unfit, func(u result.Unfit) bool { return u.Key == k }); i >= 0 {
		out = table.Cell{Text: table.Absent, Note: v.f.Run.Unfit[i].Why}
	}
	return out
}

// calm is the first scenario that breaks nothing, or else the first one.
func (v *View) calm(workload string) string {
	ran, broken := map[string]bool{}, map[string]bool{}
	for _, c := range v.cells {
		if c.Workload == workload {
			ran[c.Scenario] = true
			broken[c.Scenario] = broken[c.Scenario] ||
				slices.ContainsFunc(c.Rows, func(r *result.Row) bool { return len(r.Faults) > 0 })
		}
	}
	scenarios := v.scenarios(workload)
	if i := slices.IndexFunc(scenarios, func(s string) bool { return ran[s] && !broken[s] }); i >= 0 {
		return scenarios[i]
	}
	return strings.Join(scenarios[:min(len(scenarios), 1)], "")
}

// median is the median of a figure of a combination; 0 and false if it was not measured.
func (v *View) median(k result.Key, name string) (float64, bool) {
	if c := v.cell(k); c != nil {
		return c.Median(name)
	}
	return 0, false
}

// decided is the same over the sound runs only.
func (v *View) decided(k result.Key, name string) (float64, bool) {
	c := v.cell(k)
	if c == nil {
		return 0, false
	}
	sound := result.Cell{Rows: slices.DeleteFunc(slices.Clone(c.Rows), func(r *result.Row) bool { return !r.Decided() })}
	return sound.Median(name)
}

// twoLines breaks a title between words, so that its longer line is shortest, and clips each to nine columns.
func twoLines(title string) string {
	const most = 9
	words := strings.Fields(title)
	first, second, least := "", title, math.MaxInt
	for i := 1; i < len(words); i++ {
		a, b := strings.Join(words[:i], " "), strings.Join(words[i:], " ")
		if w := max(table.Columns(a), table.Columns(b)); w <= least {
			first, second, least = a, b, w
		}
	}
	return table.Clip(first, most) + "\n" + table.Clip(second, most)
}

// legend explains the glyphs of the grid.
func (v *View) legend() {
	var codes, open []string
	zone, outage := "", false
	for i := range v.cells {
		title := v.codeTitle(v.cells[i].code)
		switch c := &v.cells[i]; {
		case c.mark == table.Violation && !slices.Contains(codes, title):
			codes = append(codes, title)
		case c.mark == table.Unknown && !slices.Contains(open, title):
			open = append(open, title)
		case c.mark == table.Outage:
			outage, zone = true, cmp.Or(zone, c.zone)
		}
	}
	repeats := v.f.Run.Repeats > 1
	if len(codes) > 0 {
		text := v.say.Sprintf("✗ so many %s", strings.Join(codes, ", "))
		if repeats {
			text = v.say.Sprintf("%s in all runs", text)
		}
		v.Legend = append(v.Legend, text)
	}
	if outage {
		text := v.say.Text("■ so many seconds nobody got it")
		if zone != "" {
			text = v.say.Sprintf("■ so many seconds nobody (in %s: in zone %s) got it", zone, zone)
		}
		if repeats {
			text = v.say.Sprintf("%s, median", text)
		}
		v.Legend = append(v.Legend, text)
	}
	if len(open) > 0 {
		v.Legend = append(v.Legend, v.say.Sprintf("? undecided: %s", strings.Join(open, ", ")))
	}
	inGrid := func(u result.Unfit) bool {
		return slices.Contains(v.locks(u.Workload), u.Lock) && slices.Contains(v.scenarios(u.Workload), u.Scenario)
	}
	if slices.ContainsFunc(v.f.Run.Unfit, inGrid) {
		v.Legend = append(v.Legend, v.say.Text("- the scenario does not apply to the lock"))
	}
}

// cutOff counts the duplicates that do not count against a lock, by scenario.
func (v *View) cutOff() {
	type made struct {
		lock string
		n    float64
	}
	var parts []string
	for _, scenario := range v.names(nil, "", (*cell).scenario) {
		var all []made
		for _, c := range v.cells {
			total := 0.0
			for _, n := range c.Values("unreachable") {
				total += n
			}
			if c.Scenario == scenario && total > 0 {
				all = append(all, made{c.Lock, total})
			}
		}
		slices.SortStableFunc(all, func(a, b made) int { return cmp.Compare(b.n, a.n) })
		var told []string
		for _, m := range all {
			told = append(told, v.short(m.lock)+" "+table.Count(m.n))
		}
		if len(told) > 0 {
			parts = append(parts, strings.Join(told, ", ")+" ("+v.title(scenario)+")")
		}
	}
	if len(parts) > 0 {
		v.CutOff = v.say.Sprintf("made while cut off, not counted: %s", strings.Join(parts, "; "))
	}
}

// cell is all repeats of one combination, with the worst that they show.
type cell struct {
	result.Cell
	mark       table.Mark
	code       result.Code // of the violation, or why nothing is decided
	n          float64     // violations in all runs, or the median of the outages in ms
	zone       string      // of the outage, if only a zone's
	of         string      // of the outage, if only a zone's or a resource's
	outage     bool        // there was one, beside violations too
	unexpected bool
}

// undecided returns the statement that leaves the row undecided, if one does.
func undecided(r *result.Row) (result.Statement, bool) {
	v := &r.Verdict
	switch {
	case v.Sound.State != result.OK:
		return v.Sound, true
	case v.As == result.Unsound && v.Why.Code == result.NothingLost:
		return v.Why, true
	case v.Safety.State == result.Failed:
		return result.Statement{}, false
	case v.Safety.State != result.OK:
		return v.Safety, true
	}
	return v.Liveness, v.Liveness.State != result.OK && v.Liveness.State != result.Failed
}

// tell finds the worst of all repeats. Undecided repeats count only if all are.
func tell(all result.Cell) cell {
	c := cell{Cell: all, mark: table.Unknown}
	var lengths []float64
	var longest result.Outage
	for _, r := range all.Rows {
		c.unexpected = c.unexpected || !r.Played && (r.Verdict.As == result.NotAsExpected || r.Verdict.As == result.Silent)
		if why, open := undecided(r); open {
			if c.mark == table.Unknown && c.code == "" {
				c.code = why.Code
			}
			continue
		}
		mark := table.OK
		if o, told := r.Outage(); told {
			mark, c.outage = table.Outage, true
			if lengths = append(lengths, o.MS()); o.MS() >= slices.Max(lengths) {
				longest = o
			}
		}
		if r.Verdict.Safety.State == result.Failed {
			if c.mark != table.Violation {
				c.code = r.Verdict.Safety.Code
			}
			mark = table.Violation
			c.n += r.Verdict.Safety.N
		}
		if c.mark == table.Unknown || mark > c.mark { // a decided repeat goes before undecided ones
			c.mark = mark
		}
	}
	if c.mark == table.Outage {
		c.n, c.of = result.Median(lengths), longest.Of
		if zone, is := strings.CutPrefix(c.of, "zone "); is {
			c.zone = zone
		}
	}
	return c
}

// figure is the cell's text on the grid.
func (c *cell) figure() string {
	switch {
	case c.mark == table.Violation:
		return table.Count(c.n)
	case c.mark != table.Outage:
		return ""
	case c.zone == "":
		return table.Duration(c.n)
	}
	return strings.TrimSuffix(table.Duration(c.n), " s") + " in " + c.zone
}

// told describes the cell in words.
func (v *View) told(c *cell) string {
	switch c.mark {
	case table.Violation:
		title := v.codeTitle(c.code)
		if c.n == 1 {
			title = strings.TrimSuffix(title, "s") // Korean has no plural
		}
		return v.say.Sprintf("%s %s", table.Count(c.n), title)
	case table.Unknown:
		return v.say.Text("undecided") + ": " + v.codeTitle(c.code)
	case table.Outage:
		return strings.TrimSuffix(v.say.Text("outage")+": "+table.Duration(c.n)+", "+c.of, ", ")
	default:
		return v.say.Text("no violation, no outage")
	}
}

// codeTitle is a code in words.
func (v *View) codeTitle(code result.Code) string {
	if code == "" {
		return v.say.Text("no reason recorded")
	}
	return v.say.Term(code.Title())
}

// unexpected adds a line for each cell that is not as expected.
func (v *View) unexpected() {
	for i := range v.cells {
		c := &v.cells[i]
		if !c.unexpected {
			continue
		}
		r := c.Worst()
		if i := slices.IndexFunc(c.Rows, func(r *result.Row) bool { return r.Verdict.As == result.Silent }); i >= 0 &&
			r.Verdict.As != result.NotAsExpected {
			r = c.Rows[i]
		}
		seen := r.Verdict.Why
		switch seen.Code {
		case result.NotSafe:
			seen = r.Verdict.Safety
		case result.NotLive, result.IsDead:
			seen = r.Verdict.Liveness
		default:
		}
		text := why.Statement(v.say, seen)
		if seen.Code == "" {
			text = v.say.Term(r.Verdict.Word)
		}
		v.Unexpected = append(v.Unexpected, v.say.Sprintf("%s, %s: %s; expected: %s", c.Lock, v.title(c.Scenario), text,
			why.Expected(v.say, r.Expected)))
	}
}
