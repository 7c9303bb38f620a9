// Package why explains one row of a result in at most 25 lines: its first violation, or its outage, as
// a table of moments. The page of a report has the same text.
package why

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/series"
	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Options are the choices of the caller.
type Options struct {
	Number int    // of the violations, and after them the outages, from 1; 0 is the worst
	Of     string // the repeat, such as ", run 2 of 3"; may be empty
	More   string // the command that shows more; may be empty
	Width  int    // of the console; 0 is 80
}

// maxMoments leaves room for the other lines of 25.
const maxMoments = 12

// subjects counts the violations and outages of a row, which are numbered in that order.
func subjects(row *result.Row) int { return len(row.Violations) + len(row.Outages) }

// Write explains a row. The record is nil if the history is lost.
func Write(w io.Writer, say *lang.Lang, row *result.Row, run *record.Run, o Options) error {
	t := telling{say: say, row: row, run: run, width: cmp.Or(o.Width, 80), lost: run == nil}
	if t.lost {
		t.run = &record.Run{}
		t.note(say.Text("evidence"), say.Text("a history is missing"))
	}
	t.title(say.Sprintf("%s under %s, %s", row.Lock, row.Scenario, row.Workload) + o.Of)
	violation, outage := row.Subject()
	if n := o.Number - 1; n >= 0 {
		violation, outage = nil, nil
		switch {
		case n < len(row.Violations):
			violation = &row.Violations[n]
		case n < subjects(row):
			outage = &row.Outages[n-len(row.Violations)]
		default:
			return fmt.Errorf("number %d: the list ends at %d", o.Number, subjects(row))
		}
	}
	switch {
	case o.Number == 0 && !row.Decided():
		t.unsound()
	case violation != nil:
		t.violation(violation)
	case outage != nil:
		t.outage(outage)
	default:
		t.nothing()
	}
	if o.More != "" {
		t.note(say.Text("more"), o.More)
	}
	return t.write(w)
}

// moment is one line of the table.
type moment struct {
	at        float64 // ms, since the violation or the beginning of the outage
	who, what string
	first     bool // it is kept before others
}

// telling is an explanation that is being made.
type telling struct {
	say     *lang.Lang
	row     *result.Row
	run     *record.Run // empty where it is lost
	lost    bool
	width   int
	head    []string
	moments []moment
	notes   [][2]string
}

func (t *telling) title(lines ...string) { t.head = append(t.head, lines...) }

// note adds a line below the table; a long one is wrapped.
func (t *telling) note(label, text string) { t.notes = append(t.notes, [2]string{label, text}) }

func (t *telling) add(atMS float64, who, what string, first bool) {
	if what != "" && !math.IsInf(atMS, 0) {
		t.moments = append(t.moments, moment{atMS, table.Plain(who), table.Plain(what), first})
	}
}

// since is a time of the measured part in seconds.
func since(ms float64) string { return fmt.Sprintf("%.3f s", ms/1000) }

func (t *telling) violation(v *result.Violation) {
	say, all := t.say, t.row.Figures[v.Code.Figure()]
	if v.Excused {
		all = t.row.Figures["unreachable"]
	}
	title := say.Sprintf("%s: %s, this one at %s", say.Term(v.Code.Title()), table.Count(max(all, 1)), since(v.AtMS))
	if v.Excused {
		title += say.Text(", not held against the lock")
	}
	t.title(title, v.Resource+": "+t.means(v.Code))
	t.scene(series.OfViolation(t.run, *v))
}

// means explains a code in a line.
func (t *telling) means(code result.Code) string {
	switch say := t.say; code {
	case result.Duplicates:
		return say.Text("a room began while another had a free seat or was starting")
	case result.Overlaps:
		return say.Text("a second client held the lock before the first one had stopped")
	case result.TokensBack:
		return say.Text("a later hold has no higher token")
	case result.StaleWrites:
		return say.Text("the store took a write after it had served a later holder")
	case result.LostUpdates:
		return say.Text("a writer overwrote a version that it had not read")
	default:
		return say.Term(code.Title())
	}
}

func (t *telling) outage(o *result.Outage) {
	say, of, means := t.say, table.Plain(o.Of), t.say.Text("it was wanted, and neither held nor granted")
	switch {
	case of == "":
		of, means = say.Text("the lock"), say.Text("no canary got it; each master has one, with a resource of its own")
	case strings.HasPrefix(of, "zone "):
		means = say.Text("no canary of its masters got the lock")
	}
	t.title(say.Sprintf("outage of %s, %s from %s", of, table.Duration(o.MS()), since(o.FromMS)), means)
	t.scene(series.OfOutage(t.run, *o))
	if o.Open {
		t.add(o.MS(), "", say.Text("the measured part ends without a grant"), true)
	}
	if v, known := t.row.Of("recovery_ms"); known && o.Open {
		t.note(say.Text("recovery"), say.Sprintf("not within %s", table.Duration(v)))
	} else if known {
		t.note(say.Text("recovery"), table.Duration(v))
	}
	if v, known := t.row.Of("served_in_fault"); known {
		t.note(say.Text("served"), say.Sprintf("%s of the requests in the fault's time", table.Share(v)))
	}
}

// scene adds the beginnings and ends of steps. Beginnings of holds, rooms, waits and faults are kept before
// others.
func (t *telling) scene(steps []series.Step) {
	for _, step := range steps {
		first, who := slices.Contains([]string{"hold", "room", "wait"}, step.What), step.Who
		if step.What == "fault" {
			first, who = step.ToMS > step.FromMS, t.say.Term(who) // not the order to heal
		}
		t.add(step.FromMS, who, t.say.Tell(step.Begins), first)
		t.add(step.ToMS, who, t.say.Tell(step.Ends), false)
	}
	told := slices.ContainsFunc(steps, func(step series.Step) bool { return step.What == "fault" })
	if !told && !t.lost {
		t.note(t.say.Text("fault"), t.say.Text("none in force or settling"))
	}
}

// faultText is a fault with its time in the measured part.
func (t *telling) faultText(f *record.Fault) string {
	name := table.Plain(t.say.Tell(history.FaultText(f.Kind, f.Target)))
	at := func(ns int64) string { return since(float64(ns-t.run.Measure) / 1e6) }
	if f.Ended == record.Never {
		return t.say.Sprintf("%s, from %s on", name, at(f.Began))
	}
	until := min(f.Heal, f.Ended)
	if f.HealsItself() {
		until = f.Ended
	}
	return t.say.Sprintf("%s, from %s to %s", name, at(f.Began), at(until))
}

// kept returns the moments that fit, in order of time, and how many are left out: those farthest from 0.
func (t *telling) kept() (kept []moment, left int) {
	distance := func(m moment) float64 {
		if m.first {
			return math.Abs(m.at) / 1e9
		}
		return math.Abs(m.at)
	}
	kept = slices.Clone(t.moments)
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(distance(a), distance(b)) })
	kept = kept[:min(len(kept), maxMoments)]
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return kept, len(t.moments) - len(kept)
}

func (t *telling) write(w io.Writer) error {
	var out strings.Builder
	line := func(text string) {
		out.WriteString(strings.TrimRight(table.Clip(text, t.width), " ") + "\n")
	}
	for _, text := range t.head {
		line(table.Plain(text))
	}
	moments, left := t.kept()
	who, label := 0, 0 // the widest
	for _, m := range moments {
		who = min(max(who, table.Columns(m.who)), 20)
	}
	for _, n := range t.notes {
		label = max(label, table.Columns(n[0]))
	}
	for i, m := range moments {
		if i == 0 {
			line("")
		}
		at := relative(m.at)
		line(strings.Repeat(" ", max(10-table.Columns(at), 0)) + at + "  " +
			table.Pad(table.Clip(m.who, who), who+2) + m.what)
	}
	if left > 0 {
		line(strings.Repeat(" ", 12) + t.say.Sprintf("and %d more", left))
	}
	for i, n := range t.notes {
		if i == 0 {
			line("")
		}
		text := table.Pad(n[0], label+2) + n[1]
		if i == len(t.notes)-1 { // a command is to be copied whole
			out.WriteString(text + "\n")
			break
		}
		for _, part := range table.Wrap(table.Plain(text), t.width, label+2) {
			line(part)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// relative is a time before or after the subject, all in one unit.
func relative(ms float64) string {
	sign := ""
	if ms >= 0.05 {
		sign = "+"
	}
	if math.Abs(ms) >= 0.05 && math.Abs(ms) < 9.95 {
		return fmt.Sprintf("%s%.1f ms", sign, ms)
	}
	return sign + table.Count(math.Round(ms)+0) + " ms"
}
