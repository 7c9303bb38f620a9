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
	switch n := t.subject(o.Number); {
	case o.Number > 0 && (n < 0 || n >= Subjects(row)):
		return fmt.Errorf("number %d: the list ends at %d", o.Number, Subjects(row))
	case n < 0 && !row.Decided():
		t.unsound()
	case n < 0:
		t.nothing()
	case n < len(row.Violations):
		t.violation(n)
	default:
		t.outage(row.Outages[n-len(row.Violations)])
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

func (t *telling) note(label, text string) { t.notes = append(t.notes, [2]string{label, text}) }

func (t *telling) add(at int64, about bool, who, what string) {
	if at != record.Never {
		t.moments = append(t.moments, moment{at, table.Plain(who), table.Plain(what), about})
	}
}

// subject is the index of what is to be explained; -1 is the row as a whole.
func (t *telling) subject(number int) int {
	if number > 0 {
		return number - 1
	}
	if !t.row.Decided() {
		return -1
	}
	for _, counts := range []func(result.Violation) bool{
		func(v result.Violation) bool { return !v.Excused && v.Code == t.row.Verdict.Safety.Code },
		func(v result.Violation) bool { return !v.Excused },
	} {
		if n := slices.IndexFunc(t.row.Violations, counts); n >= 0 {
			return n
		}
	}
	if len(t.row.Outages) > 0 && t.row.Verdict.Liveness.State == result.Failed {
		return len(t.row.Violations) // the first one is that of the word
	}
	worst := -1
	for i, o := range t.row.Outages {
		if t.outageCounts(o) && (worst < 0 || o.MS() > t.row.Outages[worst].MS()) {
			worst = i
		}
	}
	switch {
	case worst >= 0:
		return len(t.row.Violations) + worst
	case len(t.row.Violations) > 0:
		return 0
	}
	return -1
}

// outageCounts says that an outage is a reason to ask: it is judged, or as long as those that are.
func (t *telling) outageCounts(o result.Outage) bool {
	least := max(1e3, float64(t.run.Head.SecondNS)/1e6)
	if o.Of != "" && !strings.HasPrefix(o.Of, "zone ") {
		least += float64(t.run.Head.LeaseNS) / 1e6
	}
	return o.MS() >= least
}

// ms is a time of the row on the clock of the record.
func (t *telling) ms(at float64) int64 { return t.run.Measure + int64(math.Round(at*1e6)) }

// since is a time of the record in seconds of the measured part.
func (t *telling) since(at int64) string {
	return fmt.Sprintf("%.3f s", float64(at-t.run.Measure)/1e9)
}

// Title is the code of a statement in words, with its number and what it is about.
func Title(say *lang.Lang, s result.Statement) string {
	title := say.Term(titleOf(s.Code))
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

// faults are lines about what was broken from one time to another.
func (t *telling) faults(from, to int64) {
	say := t.say
	n := 0
	for i := range t.run.Faults {
		if f := &t.run.Faults[i]; t.touches(f, from, to) {
			if n++; n <= 3 {
				t.note(say.Text("fault"), t.faultText(f))
			}
		}
	}
	switch {
	case n > 3:
		t.note("", say.Sprintf("and %d more", n-3))
	case n == 0:
		t.note(say.Text("fault"), say.Text("none in force or settling"))
	}
}

// touches says that a fault was in force in a time, or settling.
func (t *telling) touches(f *record.Fault, from, to int64) bool {
	settling := max(int64(1500e6), t.run.Head.LeaseNS+int64(500e6))
	return f.Proven && f.Began <= to && (f.Ended == record.Never || f.Ended+settling >= from)
}

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
	say := t.say
	var lines []string
	add := func(text string) { lines = append(lines, strings.TrimRight(table.Clip(text, t.width), " ")) }
	for _, text := range t.head {
		add(table.Plain(text))
	}
	moments, left := t.kept()
	if len(moments) > 0 {
		lines = append(lines, "")
	}
	widest := 0
	for _, m := range moments {
		widest = min(max(widest, table.Columns(m.who)), 20)
	}
	for _, m := range moments {
		at := relative(m.at - t.zero)
		who := table.Clip(m.who, widest)
		add(fmt.Sprintf("%s%s  %s%s  %s", pad(at, 10), at, who, pad(who, widest), m.what))
	}
	if left > 0 {
		add(strings.Repeat(" ", 12) + say.Sprintf("and %d more", left))
	}
	if len(t.notes) > 0 {
		lines = append(lines, "")
	}
	widest = 0
	for _, n := range t.notes {
		widest = max(widest, table.Columns(n[0]))
	}
	for i, n := range t.notes {
		text := n[0] + pad(n[0], widest) + "  " + n[1]
		if i == len(t.notes)-1 { // a command is to be copied whole
			lines = append(lines, text)
			continue
		}
		add(text)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func pad(text string, columns int) string {
	return strings.Repeat(" ", max(columns-table.Columns(text), 0))
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
