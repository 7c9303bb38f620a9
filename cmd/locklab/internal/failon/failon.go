// Package failon reads and applies the thresholds of --fail-on, such as
// "duplicates>0" or "latency_ms.p99>=250", with which a script turns a figure of
// result.json into an exit code. With a sign the limit is a difference from a baseline:
// "latency_ms.p99>+10%", "availability<-0.01".
package failon

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/nearest"
	"locklab/reports/result"
)

// Threshold is one condition that must not hold.
type Threshold struct {
	text   string
	figure result.Figure
	op     string
	limit  float64
	// A difference from a baseline, as a share of it if Relative.
	differs, relative bool
}

// Differs says that it is about the difference from a baseline.
func (t Threshold) Differs() bool { return t.differs }

// Figure is what it is about.
func (t Threshold) Figure() result.Figure { return t.figure }

// String is the threshold as the user wrote it.
func (t Threshold) String() string { return t.text }

// operators, longest first so that ">=" is not read as ">".
func operators() []string { return []string{">=", "<=", "==", "!=", ">", "<"} }

// Parse reads FIGURE OPERATOR NUMBER. A figure is named by its field in a row of
// result.json, with a dot for the figures inside it; "duplicates" alone means
// duplicates.total, and a bare distribution such as "latency_ms" its p99.
func Parse(text string) (Threshold, error) {
	for _, op := range operators() {
		name, number, ok := strings.Cut(text, op)
		if !ok {
			continue
		}
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		t := Threshold{text: text, op: op}
		t.differs = strings.HasPrefix(number, "+") || strings.HasPrefix(number, "-")
		digits, relative := strings.CutSuffix(number, "%")
		if relative && !t.differs {
			return Threshold{}, fmt.Errorf("--fail-on %q: want a sign before a percentage, such as +%s, for the difference from a baseline", text, number)
		}
		t.relative = relative
		limit, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return Threshold{}, fmt.Errorf("--fail-on %q: %q is not a number", text, number)
		}
		if math.IsNaN(limit) || math.IsInf(limit, 0) {
			return Threshold{}, fmt.Errorf("--fail-on %q: nothing is compared with %s: want a finite number", text, number)
		}
		for _, field := range []string{name, name + ".total", name + ".p99"} {
			if f, known := result.Lookup(field); known {
				t.figure, t.limit = f, limit
				if t.differs && (op == "==" || op == "!=" || (limit > 0) != strings.HasPrefix(op, ">")) {
					return Threshold{}, fmt.Errorf("--fail-on %q: a difference from a baseline is above + or below -, such as '%s>+10%%'", text, f.Field)
				}
				return t, nil
			}
		}
		return Threshold{}, fmt.Errorf("--fail-on %q: unknown figure %q (known: %s, errors.KIND)%s", text, name, strings.Join(Figures(), ", "), nearest.Hint(name, Figures()))
	}
	return Threshold{}, fmt.Errorf("--fail-on %q: want FIGURE OPERATOR NUMBER, such as 'duplicates>0' (operators: %s)", text, strings.Join(operators(), " "))
}

// Crossed says whether the row crosses the threshold. A row that has no such figure does
// not, unless it is a time that never ended: that is longer than any.
func (t Threshold) Crossed(row result.Row) bool {
	if t.differs {
		return false
	}
	if t.figure.Never(row) {
		return t.holds(math.Inf(1))
	}
	value, ok := t.figure.Of(row)
	return ok && t.holds(value)
}

// Missing says that none of the rows has what the threshold is about, so that it decides nothing.
func (t Threshold) Missing(rows []result.Row) bool {
	return !slices.ContainsFunc(rows, func(row result.Row) bool {
		_, ok := t.figure.Of(row)
		return ok || t.figure.Never(row)
	})
}

// Beyond says whether a figure that was before, and is after, differs by more than the
// threshold; whether that is shown to be so is another question. From 0, more of anything is
// beyond every percentage.
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
		if f.Field != "" {
			names = append(names, f.Field)
		}
	}
	slices.Sort(names)
	return names
}
