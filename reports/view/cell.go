package view

import (
	"slices"
	"strings"

	"locklab/reports/table"
	"locklab/workloads/result"
)

// second is the least outage that is told, in ms.
const second = 1000

// cell is all repeats of one combination, with the worst thing first that they show.
type cell struct {
	result.Cell
	mark       table.Mark
	code       result.Code // of the violation, of the outage, or why nothing is decided
	n          float64     // violations in all runs, or the median of the outages in ms
	zone       string      // of the outage, if only a zone's
	of         string      // of the outage, if only a resource's
	outage     bool        // there was one, beside violations too
	unexpected bool
}

// outage is the one that a row tells of: what its word is about, else the longest of a zone.
func outage(r *result.Row) (o result.Outage, told bool) {
	if l := r.Verdict.Liveness; l.State == result.Failed {
		return result.Outage{Of: l.Of, ToMS: l.N}, true
	}
	for _, z := range r.Outages {
		if strings.HasPrefix(z.Of, "zone ") && z.MS() >= second && z.MS() > o.MS() {
			o, told = z, true
		}
	}
	return o, told
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
	case v.Liveness.State != result.OK && v.Liveness.State != result.Failed:
		return v.Liveness, true
	}
	return result.Statement{}, false
}

// tell finds the worst thing of all repeats. Those that decide nothing count if all do.
func tell(all result.Cell) cell {
	c := cell{Cell: all, mark: table.Unknown}
	var lengths []float64
	var longest result.Outage
	for _, r := range all.Rows {
		c.unexpected = c.unexpected || r.Verdict.As == result.NotAsExpected || r.Verdict.As == result.Silent
		if why, open := undecided(r); open {
			if c.code == "" {
				c.code = why.Code
			}
			continue
		}
		mark := table.OK
		if o, told := outage(r); told {
			mark, c.outage = table.Outage, true
			lengths = append(lengths, o.MS())
			if o.MS() > longest.MS() || len(lengths) == 1 {
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
		c.mark = worse(c.mark, mark)
	}
	switch c.mark {
	default: // the code that was found
	case table.OK:
		c.code = ""
	case table.Outage:
		slices.Sort(lengths)
		c.n = (lengths[(len(lengths)-1)/2] + lengths[len(lengths)/2]) / 2
		c.code = ""
		if w := c.Worst(); w.Verdict.Liveness.State == result.Failed {
			c.code = w.Verdict.Liveness.Code
		}
		if zone, is := strings.CutPrefix(longest.Of, "zone "); is {
			c.zone = zone
		} else {
			c.of = longest.Of
		}
	}
	return c
}

// worse is the mark of two that is told. Any other is told before undecided.
func worse(a, b table.Mark) table.Mark {
	if a == table.Unknown {
		return b
	}
	return max(a, b)
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
	value, unit := table.Split(c.n)
	if unit == "s" {
		unit = ""
	}
	return strings.TrimSpace(value+" "+unit) + " in " + c.zone
}

// told is the cell in words.
func (v *View) told(c *cell) string {
	switch c.mark {
	case table.Violation:
		return v.violations(c.code, c.n)
	case table.Outage:
		switch {
		case c.zone != "":
			return v.say.Sprintf("an outage of %s in zone %s", table.Duration(c.n), c.zone)
		case c.of != "":
			return v.say.Sprintf("an outage of %s of %s", table.Duration(c.n), c.of)
		}
		return v.say.Sprintf("an outage of %s", table.Duration(c.n))
	case table.Unknown:
		return v.say.Text("undecided") + ": " + v.codeTitle(c.code)
	default:
		return v.say.Text("no violation, no outage")
	}
}

// violations is how many of a kind there are.
func (v *View) violations(code result.Code, n float64) string {
	title := v.codeTitle(code)
	if n == 1 {
		title = strings.TrimSuffix(title, "s") // Korean has no plural
	}
	return v.say.Sprintf("%s %s", table.Count(n), title)
}

// codeTitle is a code in words.
func (v *View) codeTitle(code result.Code) string {
	for _, c := range result.Codes() {
		if c.Code == code {
			return v.say.Term(c.Title)
		}
	}
	return v.say.Text("no reason recorded")
}

// unexpected are lines on the cells that are not as expected.
func (v *View) unexpected() {
	for i := range v.cells {
		c := &v.cells[i]
		if !c.unexpected {
			continue
		}
		r := c.Worst()
		for _, other := range c.Rows {
			if other.Verdict.As == result.NotAsExpected || other.Verdict.As == result.Silent && r.Verdict.As != result.NotAsExpected {
				r = other
				break
			}
		}
		seen := v.codeTitle(r.Verdict.Why.Code)
		switch why := r.Verdict.Why; why.Code {
		case result.NotSafe:
			seen = v.violations(r.Verdict.Safety.Code, r.Verdict.Safety.N)
		case result.NotLive, result.IsDead:
			if seen = v.say.Term(r.Verdict.Word); why.N > 0 {
				seen = v.say.Sprintf("%s for %s", seen, table.Duration(why.N))
			}
		case result.ServedTooLittle:
			seen = v.say.Sprintf("%s served", table.Share(why.N))
		default:
		}
		v.Unexpected = append(v.Unexpected, v.say.Sprintf("%s, %s: %s; expected: %s", c.Lock, v.title(c.Scenario), seen, v.expected(r.Expected)))
	}
}

// expected is what a scenario expects of a lock.
func (v *View) expected(e result.Expected) string {
	var parts []string
	if e.Safety != "" {
		parts = append(parts, v.say.Term(e.Safety))
	}
	if len(e.Liveness) > 0 {
		parts = append(parts, v.anyOf(e.Liveness))
	}
	if e.Served > 0 {
		parts = append(parts, v.say.Sprintf("%s served", table.Share(e.Served)))
	}
	if e.ServedInFault > 0 {
		parts = append(parts, v.say.Sprintf("%s served in the fault's time", table.Share(e.ServedInFault)))
	}
	if len(parts) == 0 {
		return v.say.Text("not dead")
	}
	return strings.Join(parts, ", ")
}

// anyOf are words of which one is enough.
func (v *View) anyOf(words []string) string {
	told := make([]string, len(words))
	for i, w := range words {
		told[i] = v.say.Term(w)
	}
	return strings.Join(told, "/")
}
