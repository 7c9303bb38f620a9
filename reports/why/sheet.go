package why

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// unsound lists the flaws of the run.
func (t *telling) unsound() {
	say := t.say
	t.title(say.Text("not sound, so it decides nothing"), Statement(say, t.row.Verdict.Sound))
	for _, f := range t.row.Faults {
		if f.Proven && !f.Unasked {
			continue
		}
		at, text := f.AskedMS, say.Sprintf("%s: not proven", f.Kind)
		if f.Unasked {
			at, text = f.BeganMS, f.Kind+", "+say.Text("unasked")
		}
		t.add(max(at, 0), f.Target, text, true)
		if f.Why != "" && len(t.notes) < 3 {
			t.note(say.Text("why"), f.Why)
		}
		for _, line := range f.Log[max(len(f.Log)-4, 0):] {
			t.add(max(at, 0), "", line, true)
		}
	}
	for _, why := range t.run.GivenUp[:min(len(t.run.GivenUp), 3)] {
		t.note(say.Text("given up"), table.Plain(why))
	}
	if m := t.run.Missing; m.N > 0 {
		t.note(say.Text("missing"), say.Sprintf("%d records, such as %s", m.N, m.First))
	}
	if c := t.run.Contradictions; c.N > 0 {
		t.note(say.Text("contradiction"), say.Sprintf("%d records, such as %s", c.N, c.First))
	}
	if code := t.row.Verdict.Sound.Code; code == result.Saturated || code == result.LateLoad {
		for _, h := range t.row.Hosts[:min(len(t.row.Hosts), 4)] {
			t.note(cmp.Or(table.Plain(h.Host), "controller"), say.Sprintf(
				"CPUs %s busy, work %s times as long, timers %s late, a sync %s",
				table.Share(h.Busy), table.Number(h.Slowdown), table.Duration(h.LateMS), table.Duration(h.FsyncMS)))
		}
		if v, known := t.row.Of("late_p99_ms"); known {
			t.note("late_p99_ms", table.Duration(v))
		}
	}
}

// nothing tells the key figures of a row without a violation or an outage.
func (t *telling) nothing() {
	say, v := t.say, t.row.Verdict
	if v.As == result.AsExpected {
		t.title(say.Text("nothing to explain"))
	} else {
		t.title(Statement(say, v.Why))
	}
	t.title(say.Sprintf("%s; no violation, no outage of a second", say.Term(v.Word)))
	for _, name := range []string{
		"served", "served_in_fault", "outage_ms", "zone_outage_ms", "unreachable",
		"request_p50_ms", "request_p99_ms", "acquire_p50_ms", "acquire_p99_ms",
	} {
		if value, known := t.row.Of(name); known {
			t.note(name, table.Figure(result.MustFigure(name), value))
		}
	}
	if v.As == result.AsExpected {
		return
	}
	kinds := slices.SortedFunc(maps.Keys(t.row.Errors),
		func(a, b string) int { return int(t.row.Errors[b] - t.row.Errors[a]) })
	label := say.Text("errors")
	for _, kind := range kinds[:min(len(kinds), 4)] {
		t.note(label, fmt.Sprintf("%s x %s", table.Plain(kind), table.Count(float64(t.row.Errors[kind]))))
		label = ""
	}
}

// Sheet writes the output of `locklab check`: the verdict, the figures, the faults, and the violations and
// outages with their numbers for --explain.
func Sheet(w io.Writer, say *lang.Lang, path string, row *result.Row, run *record.Run, width int) error {
	t := telling{say: say, row: row, run: run, width: width}
	v := row.Verdict
	t.title(path, say.Sprintf("%s under %s, %s", row.Lock, row.Scenario, row.Workload))
	statement := func(label string, s result.Statement) {
		text := say.Term(string(s.State))
		if s.Code != "" {
			text += ": " + Statement(say, s)
		}
		t.note(label, text)
	}
	statement(say.Text("sound"), v.Sound)
	statement(say.Text("safety"), v.Safety)
	statement(say.Text("liveness"), v.Liveness)
	if v.Liveness.Code == "" && v.Word != "" {
		t.notes[len(t.notes)-1][1] += ": " + say.Term(v.Word)
	}
	as := say.Term(string(v.As))
	if v.Why.Code != "" {
		as += ": " + Statement(say, v.Why)
	}
	t.note(say.Text("verdict"), as)
	t.note(say.Text("expects"), Expected(say, row.Expected))
	var cells []string
	for _, f := range result.Figures() {
		if value, known := row.Of(f.Name); known && (value != 0 || f.As != result.Count && f.As != result.Duration) {
			cells = append(cells, f.Name+" "+table.Figure(f, value))
		}
	}
	t.note(say.Text("figures"), strings.Join(cells, ", "))
	for i := range run.Faults {
		f := &run.Faults[i]
		text := t.faultText(f)
		if !f.Proven {
			text = say.Sprintf("%s: not proven", f.Kind)
		}
		t.note(say.Text("fault"), text)
		var lost []string
		for _, l := range f.Lost {
			lost = append(lost, say.Sprintf("%s: %d bytes, %d names", l.Node, l.Bytes, l.Names))
		}
		if len(lost) > 0 {
			t.note(say.Text("lost"), strings.Join(lost, "; "))
		}
	}
	const listed = 6
	for i, one := range row.Violations[:min(len(row.Violations), listed)] {
		text := say.Sprintf("%s at %s, %s", say.Term(one.Code.Title()), since(one.AtMS), one.Resource)
		if one.Excused {
			text += say.Text(", not held against the lock")
		}
		t.note(fmt.Sprintf("%2d", i+1), text)
	}
	if more := len(row.Violations) - listed; more > 0 {
		t.note("", say.Sprintf("and %d more", more))
	}
	for i, o := range row.Outages {
		t.note(fmt.Sprintf("%2d", len(row.Violations)+i+1),
			say.Sprintf("outage of %s, %s from %s", cmp.Or(o.Of, say.Text("the lock")), table.Duration(o.MS()), since(o.FromMS)))
	}
	if subjects(row) > 0 {
		t.note(say.Text("more"), "locklab check --explain 1 "+path)
	}
	return t.write(w)
}

// Verdict names the statements about a run. One that a person broke is not judged.
func Verdict(say *lang.Lang, r *result.Row) string {
	parts := []string{say.Term(string(r.Verdict.As))}
	if r.Played {
		parts[0] = say.Term(result.NotJudged)
	}
	for _, s := range []result.Statement{r.Verdict.Sound, r.Verdict.Safety, r.Verdict.Liveness} {
		if s.Code != "" {
			parts = append(parts, Statement(say, s))
		}
	}
	return strings.Join(parts, " · ")
}

// Statement describes a statement in words: the title of its code, its number, and its subject.
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
	parts := slices.DeleteFunc([]string{say.Term(e.Safety), AnyOf(say, e.Liveness)},
		func(text string) bool { return text == "" })
	if e.Served > 0 {
		parts = append(parts, say.Sprintf("%s served", table.Share(e.Served)))
	}
	if e.ServedInFault > 0 {
		parts = append(parts, say.Sprintf("%s served in the fault's time", table.Share(e.ServedInFault)))
	}
	return cmp.Or(strings.Join(parts, ", "), say.Text("not dead"))
}

// AnyOf joins words of which one is enough.
func AnyOf(say *lang.Lang, words []string) string {
	var told []string
	for _, w := range words {
		told = append(told, say.Term(w))
	}
	return strings.Join(told, "/")
}
