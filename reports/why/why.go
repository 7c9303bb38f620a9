// Package why explains one row of a result in at most 25 lines: its first violation, or its
// outage, as a table of moments: who held, who asked, what was broken.
//
//	result.Row (what, when) + record.Run (what happened around it) -> Write
package why

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Options are what row and record do not say.
type Options struct {
	Number int    // of [Subjects]; 0 is the worst that there is to explain
	Of     string // the repeat, such as ", run 2 of 3"; may be empty
	More   string // the command that shows more; may be empty
	Width  int    // of the console; 0 is 80
}

// maxMoments leaves room for the other lines of the 25.
const maxMoments = 12

// Subjects are what can be explained of a row, in the order of their numbers: its violations,
// then its outages.
func Subjects(row *result.Row) int { return len(row.Violations) + len(row.Outages) }

// Write explains a row. The record may be nil where the history is lost.
func Write(w io.Writer, say *lang.Lang, row *result.Row, run *record.Run, o Options) error {
	if run == nil {
		run = &record.Run{Names: []string{""}}
	}
	t := telling{say: say, row: row, run: run, width: cmp.Or(o.Width, 80)}
	t.title(say.Sprintf("%s under %s, %s", row.Lock, row.Scenario, row.Workload) + o.Of)
	violation, outage := row.Subject()
	if n := o.Number - 1; n >= 0 {
		violation, outage = nil, nil
		switch {
		case n < len(row.Violations):
			violation = &row.Violations[n]
		case n < Subjects(row):
			outage = &row.Outages[n-len(row.Violations)]
		default:
			return fmt.Errorf("number %d: the list ends at %d", o.Number, Subjects(row))
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
	at        int64
	who, what string
	about     bool // the subject itself: it is never left out
}

// telling is an explanation that is being put together.
type telling struct {
	say     *lang.Lang
	row     *result.Row
	run     *record.Run
	width   int
	head    []string
	zero    int64 // the moment to which the times of the table are relative
	moments []moment
	notes   [][2]string
}

func (t *telling) title(lines ...string) { t.head = append(t.head, lines...) }

// note adds a line below the table; one that is too long goes on below.
func (t *telling) note(label, text string) { t.notes = append(t.notes, [2]string{label, text}) }

func (t *telling) add(at int64, about bool, who, what string) {
	if at != record.Never {
		t.moments = append(t.moments, moment{at, table.Plain(who), table.Plain(what), about})
	}
}

// ms is a time of the row on the clock of the record.
func (t *telling) ms(at float64) int64 { return t.run.Measure + int64(math.Round(at*1e6)) }

// since is a time of the record in seconds of the measured part.
func (t *telling) since(at int64) string {
	return fmt.Sprintf("%.3f s", float64(at-t.run.Measure)/1e9)
}

// faults are lines about what was broken from one time to another.
func (t *telling) faults(from, to int64) {
	broken := t.broken(from, to)
	for _, f := range broken[:min(len(broken), 3)] {
		t.note(t.say.Text("fault"), t.faultText(f))
	}
	if more := len(broken) - 3; more > 0 {
		t.note("", t.say.Sprintf("and %d more", more))
	}
}

// broken are the faults that were in force in a time, or settling; a line says so if none was.
func (t *telling) broken(from, to int64) (all []*record.Fault) {
	settling := max(int64(1500e6), t.run.Head.LeaseNS+int64(500e6))
	for i := range t.run.Faults {
		if f := &t.run.Faults[i]; f.Proven && f.Began <= to && (f.Ended == record.Never || f.Ended+settling >= from) {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		t.note(t.say.Text("fault"), t.say.Text("none in force or settling"))
	}
	return all
}

// selfHealing is how soon, in ns, the order to heal comes of a fault that needs none.
const selfHealing = 1e6

func (t *telling) faultText(f *record.Fault) string {
	say := t.say
	name := table.Plain(say.Tell(history.FaultText(f.Kind, f.Target)))
	if f.Ended == record.Never {
		return say.Sprintf("%s, from %s on", name, t.since(f.Began))
	}
	until := min(f.Heal, f.Ended)
	if f.Heal-f.Began < selfHealing {
		until = f.Ended
	}
	return say.Sprintf("%s, from %s to %s", name, t.since(f.Began), t.since(until))
}

// kept are the moments that fit, sorted, and how many are left out: those farthest from the
// subject.
func (t *telling) kept() (kept []moment, left int) {
	distance := func(m moment) int64 {
		if m.about {
			return -1
		}
		return max(m.at-t.zero, t.zero-m.at)
	}
	kept = slices.Clone(t.moments)
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(distance(a), distance(b)) })
	left = max(0, len(kept)-maxMoments)
	kept = kept[:len(kept)-left]
	slices.SortStableFunc(kept, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return kept, left
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
	if len(moments) > 0 {
		line("")
	}
	widest := 0
	for _, m := range moments {
		widest = min(max(widest, table.Columns(m.who)), 20)
	}
	for _, m := range moments {
		at := relative(m.at - t.zero)
		line(strings.Repeat(" ", max(10-table.Columns(at), 0)) + at + "  " + table.Pad(table.Clip(m.who, widest), widest+2) + m.what)
	}
	if left > 0 {
		line(strings.Repeat(" ", 12) + t.say.Sprintf("and %d more", left))
	}
	if len(t.notes) > 0 {
		line("")
	}
	widest = 0
	for _, n := range t.notes {
		widest = max(widest, table.Columns(n[0]))
	}
	for i, n := range t.notes {
		text := table.Pad(n[0], widest+2) + n[1]
		if i == len(t.notes)-1 { // a command is to be copied whole
			out.WriteString(text + "\n")
			break
		}
		for _, part := range table.Wrap(table.Plain(text), t.width, widest+2) {
			line(part)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// relative is a time before or after the subject, all in one unit.
func relative(ns int64) string {
	ms := float64(ns) / 1e6
	sign := map[bool]string{true: "+"}[ns > 0]
	if ns != 0 && math.Abs(ms) < 9.95 {
		return fmt.Sprintf("%s%.1f ms", sign, ms)
	}
	return sign + table.Count(ms) + " ms"
}
