package view

import (
	"cmp"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

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

// undecided is the first statement that is open and leaves the row so.
func undecided(r *result.Row) (result.Statement, bool) {
	v := &r.Verdict
	switch {
	case v.Sound.State != result.OK:
		return v.Sound, true
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
		if c.mark == table.Unknown || mark > c.mark { // any other is told before undecided
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

// figure is the cell's on the grid.
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

// told is the cell in words.
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
		text := Statement(v.say, seen)
		if seen.Code == "" {
			text = v.say.Term(r.Verdict.Word)
		}
		v.Unexpected = append(v.Unexpected, v.say.Sprintf("%s, %s: %s; expected: %s", c.Lock, v.Title(c.Scenario), text,
			Expected(v.say, r.Expected)))
	}
}

// Statement is one in words: the title of its code, its number, and its subject.
func Statement(say *lang.Lang, s result.Statement) string {
	title := say.Term(s.Code.Title())
	switch s.Code {
	case result.Duplicates, result.Overlaps, result.TokensBack, result.StaleWrites, result.LostUpdates, result.InDoubt:
		title += ": " + table.Count(s.N)
	case result.IsStalls, result.IsDown, result.IsDead:
		title += ": " + table.Duration(s.N)
	case result.ServedTooLittle:
		title += ": " + table.Share(s.N)
	default:
	}
	if s.Of != "" {
		title += " (" + table.Plain(s.Of) + ")"
	}
	return title
}

// Expected is an expectation in words.
func Expected(say *lang.Lang, e result.Expected) string {
	parts := slices.DeleteFunc([]string{say.Term(e.Safety), anyOf(say, e.Liveness)},
		func(text string) bool { return text == "" })
	if e.Served > 0 {
		parts = append(parts, say.Sprintf("%s served", table.Share(e.Served)))
	}
	if e.ServedInFault > 0 {
		parts = append(parts, say.Sprintf("%s served in the fault's time", table.Share(e.ServedInFault)))
	}
	return cmp.Or(strings.Join(parts, ", "), say.Text("not dead"))
}

// anyOf are words of which one is enough.
func anyOf(say *lang.Lang, words []string) string {
	var told []string
	for _, w := range words {
		told = append(told, say.Term(w))
	}
	return strings.Join(told, "/")
}
