// Package threshold reads and applies --fail-on, such as "duplicates>0" or "request_p99_ms>=250",
// with which a script turns a figure of result.json into an exit code. With a sign the limit is a
// difference from a baseline: "request_p99_ms>+10%", "served<-0.01".
package threshold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/nearest"
	"locklab/reports/compare"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Threshold is one condition that must not hold.
type Threshold struct {
	text   string
	figure result.Figure
	kind   string // of errors.KIND; "" for figures
	op     string
	limit  float64
	// A difference from a baseline, as a share of it if relative.
	differs, relative bool
}

// Differs says that it is about the difference from a baseline.
func (t Threshold) Differs() bool { return t.differs }

// String is the threshold as the user wrote it.
func (t Threshold) String() string { return t.text }

// operators, longest first so that ">=" is not read as ">".
func operators() []string { return []string{">=", "<=", "==", "!=", ">", "<"} }

// Parse reads FIGURE OPERATOR NUMBER. A figure has its name of result.json; errors.KIND is how many
// operations failed so.
func Parse(text string) (Threshold, error) {
	fail := func(format string, args ...any) (Threshold, error) {
		return Threshold{}, fmt.Errorf("--fail-on %q: %s", text, fmt.Sprintf(format, args...))
	}
	i := slices.IndexFunc(operators(), func(op string) bool { return strings.Contains(text, op) })
	if i < 0 {
		return fail("want FIGURE OPERATOR NUMBER, such as 'duplicates>0' (operators: %s)", strings.Join(operators(), " "))
	}
	t := Threshold{text: text, op: operators()[i]}
	name, number, _ := strings.Cut(text, t.op)
	name, number = strings.TrimSpace(name), strings.TrimSpace(number)
	t.differs = strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
	var digits string
	digits, t.relative = strings.CutSuffix(number, "%")
	limit, err := strconv.ParseFloat(digits, 64)
	t.limit = limit
	switch {
	case t.relative && !t.differs:
		return fail("want a sign before a percentage, such as +%s, for the difference from a baseline", number)
	case err != nil:
		return fail("%q is not a number", number)
	case math.IsNaN(t.limit) || math.IsInf(t.limit, 0):
		return fail("nothing is compared with %s: want a finite number", number)
	case t.differs && (t.op == "==" || t.op == "!=" || (t.limit > 0) != strings.HasPrefix(t.op, ">")):
		return fail("a difference from a baseline is above + or below -, such as '%s>+10%%'", name)
	}
	if kind, is := strings.CutPrefix(name, "errors."); is && kind != "" && !t.differs {
		t.kind = kind
		return t, nil
	}
	known := false
	if t.figure, known = result.Lookup(name); !known {
		names := Figures()
		return fail("unknown figure %q%s (known: %s, errors.KIND)", name, nearest.Hint(name, names), strings.Join(names, ", "))
	}
	return t, nil
}

// value is that of one row; errors that did not come are none.
func (t Threshold) value(r *result.Row) (float64, bool) {
	if t.kind != "" {
		return float64(r.Errors[t.kind]), true
	}
	return r.Of(t.figure.Name)
}

// Crossed says whether a row, or the repeats of a cell, cross the threshold: their median, or a
// count of any of them. Without the figure they do not.
func (t Threshold) Crossed(rows ...*result.Row) bool {
	var values []float64
	for _, r := range rows {
		if v, known := t.value(r); known {
			values = append(values, v)
		}
	}
	switch {
	case t.differs || len(values) == 0:
		return false
	case t.kind != "" || t.figure.As == result.Count:
		return slices.ContainsFunc(values, t.holds)
	}
	return t.holds(result.Median(values))
}

// Missing says that no row has what the threshold is about, so that it decides nothing.
func (t Threshold) Missing(rows ...*result.Row) bool {
	return !slices.ContainsFunc(rows, func(r *result.Row) bool { _, known := t.value(r); return known })
}

// Beyond says whether a figure that was before, and is after, differs by more than the
// threshold. From 0, more of anything is beyond every percentage.
func (t Threshold) Beyond(before, after float64) bool {
	d := after - before
	if t.relative {
		d *= 100 / before
	}
	return t.differs && after != before && t.holds(d)
}

func (t Threshold) holds(value float64) bool {
	switch t.op {
	case ">":
		return value > t.limit
	case ">=":
		return value >= t.limit
	case "<":
		return value < t.limit
	case "<=":
		return value <= t.limit
	case "==":
		return value == t.limit
	default:
		return value != t.limit
	}
}

// Figures are the names of all figures, sorted.
func Figures() []string {
	var names []string
	for _, f := range result.Figures() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// Finding is a threshold that is crossed, or a difference beyond one. Open: chance explains it, so
// only more repeats can tell.
type Finding struct {
	result.Key
	Run       int // of the files
	Threshold Threshold
	Open      bool
	text      string
}

// String is the finding in a line.
func (f Finding) String() string {
	state := map[bool]string{true: "open", false: "crossed"}[f.Open]
	return fmt.Sprintf("%s --fail-on %s: %s under %s%s", state, f.Threshold, f.Lock, f.Scenario, f.text)
}

// Gate finds the crossed thresholds of a file, or of several in any but the first, which is the
// baseline. Only the figures of thresholds are tested, so that few repeats are enough.
func Gate(files []result.File, thresholds []Threshold) (all []Finding) {
	for n := min(len(files)-1, 1); n < len(files); n++ {
		for _, c := range files[n].Cells() {
			for _, t := range thresholds {
				if t.Crossed(c.Rows...) {
					all = append(all, Finding{Key: c.Key, Run: n, Threshold: t})
				}
			}
		}
	}
	var figures []result.Figure
	for _, t := range thresholds {
		if t.differs && !slices.ContainsFunc(figures, func(f result.Figure) bool { return f.Name == t.figure.Name }) {
			figures = append(figures, t.figure)
		}
	}
	if len(figures) == 0 {
		return all
	}
	for _, d := range compare.Runs(files, figures...) {
		for _, t := range thresholds {
			if t.figure.Name == d.Figure.Name && t.Beyond(d.Before.Median, d.After.Median) {
				after, before := table.Figure(d.Figure, d.After.Median), table.Figure(d.Figure, d.Before.Median)
				open := d.Outcome() == compare.SideBySide
				all = append(all, Finding{d.Key, d.Run, t, open, fmt.Sprintf(": %s, it was %s", after, before)})
			}
		}
	}
	return all
}
