// Package threshold reads and applies --fail-on, such as "duplicates>0" or "request_p99_ms>=250",
// with which a script turns a figure of result.json into an exit code. With a sign the limit is a
// difference from a baseline: "request_p99_ms>+10%", "served<-0.01".
package threshold

import (
	"cmp"
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

// Parse reads FIGURE OPERATOR NUMBER. Figures have their names of result.json; errors.KIND counts operations.
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
		hint := nearest.Hint(name, figures())
		return fail("unknown figure %q%s (known: %s, errors.KIND)", name, hint, strings.Join(figures(), ", "))
	}
	return t, nil
}

// ParseAll reads the values of --fail-on. Without a baseline none may be a difference; missing says what to do.
func ParseAll(texts []string, baseline bool, missing string) (all []Threshold, err error) {
	for _, text := range texts {
		t, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if t.differs && !baseline {
			return nil, fmt.Errorf("--fail-on %q: it is a difference: %s", text, missing)
		}
		all = append(all, t)
	}
	return all, nil
}

// value is the row's; an error that did not come counts 0.
func (t Threshold) value(r *result.Row) (float64, bool) {
	if t.kind != "" {
		return float64(r.Errors[t.kind]), true
	}
	return r.Of(t.figure.Name)
}

// Crossed says whether the median of the rows crosses the threshold; of a count, whether any of them does.
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

// Beyond says whether a figure changes by more than the threshold. From 0 any change is beyond every percentage.
func (t Threshold) Beyond(before, after float64) bool {
	d := after - before
	if t.relative {
		d *= 100 / before
	}
	return t.differs && after != before && t.holds(d)
}

func (t Threshold) holds(value float64) bool {
	c := cmp.Compare(value, t.limit)
	return map[string]bool{">": c > 0, ">=": c >= 0, "<": c < 0, "<=": c <= 0, "==": c == 0, "!=": c != 0}[t.op]
}

// figures are the names of all figures, sorted.
func figures() []string {
	var names []string
	for _, f := range result.Figures() {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// Gate tells what crosses a threshold in a file, or in later files than the baseline, the first. It tests only figures
// of thresholds, so that few repeats are enough. A difference that chance may explain is not sound.
func Gate(files []result.File, names []string, thresholds []Threshold) (told []string, as result.Comparison) {
	crossed, open := false, false
	tell := func(run int, state string, t Threshold, key result.Key, more string) {
		text := fmt.Sprintf("%s --fail-on %s: %s under %s%s", state, t, key.Lock, key.Scenario, more)
		if len(files) > 2 {
			text = names[run] + ": " + text
		}
		told = append(told, text)
	}
	var all []*result.Row
	for n, f := range files {
		for _, c := range f.Cells() {
			all = append(all, c.Rows...)
			for _, t := range thresholds {
				if (n > 0 || len(files) == 1) && t.Crossed(c.Rows...) {
					crossed = true
					tell(n, "crossed", t, c.Key, "")
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
	var differences []compare.Difference
	if len(figures) > 0 { // none would be all
		differences = compare.Runs(files, figures...)
	}
	for _, d := range differences {
		for _, t := range thresholds {
			if t.figure.Name != d.Figure.Name || !t.Beyond(d.Before.Median, d.After.Median) {
				continue
			}
			state := "crossed"
			if d.Outcome() == compare.SideBySide {
				state = "open"
			}
			crossed, open = crossed || state == "crossed", open || state == "open"
			after, before := table.Figure(d.Figure, d.After.Median), table.Figure(d.Figure, d.Before.Median)
			tell(d.Run, state, t, d.Key, fmt.Sprintf(": %s, it was %s", after, before))
		}
	}
	for _, t := range thresholds {
		if t.Missing(all...) {
			told = append(told, fmt.Sprintf("--fail-on %s decides nothing: no row has that figure", t))
		}
	}
	switch {
	case crossed:
		return told, result.NotAsExpected
	case open:
		return told, result.Unsound
	}
	return told, result.AsExpected
}
