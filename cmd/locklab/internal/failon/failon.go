// Package failon reads and applies the thresholds of --fail-on, such as "duplicates>0" or
// "request_p99_ms>=250", with which a script turns a figure into an exit code. With a sign the
// limit is a difference from a baseline: "request_p99_ms>+10%", "served<-0.01".
package failon

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/internal/nearest"
	"locklab/workloads/result"
)

// Threshold is one condition that must not hold.
type Threshold struct {
	text   string
	figure result.Figure
	kind   string // of errors.KIND
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

// Parse reads FIGURE OPERATOR NUMBER. A figure has its name of [result.Figures], or is
// errors.KIND.
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
		var err error
		if t.limit, err = strconv.ParseFloat(digits, 64); err != nil {
			return Threshold{}, fmt.Errorf("--fail-on %q: %q is not a number", text, number)
		}
		if math.IsNaN(t.limit) || math.IsInf(t.limit, 0) {
			return Threshold{}, fmt.Errorf("--fail-on %q: nothing is compared with %s: want a finite number", text, number)
		}
		kind, isError := strings.CutPrefix(name, "errors.")
		figure, known := result.Lookup(name)
		if isError && kind != "" && !t.differs {
			t.kind, figure, known = kind, result.Figure{Name: name, As: result.Count}, true
		}
		if !known {
			return Threshold{}, fmt.Errorf("--fail-on %q: unknown figure %q (known: %s, errors.KIND)%s", text, name, strings.Join(Figures(), ", "), nearest.Hint(name, Figures()))
		}
		t.figure = figure
		if t.differs && (op == "==" || op == "!=" || (t.limit > 0) != strings.HasPrefix(op, ">")) {
			return Threshold{}, fmt.Errorf("--fail-on %q: a difference from a baseline is above + or below -, such as '%s>+10%%'", text, name)
		}
		return t, nil
	}
	return Threshold{}, fmt.Errorf("--fail-on %q: want FIGURE OPERATOR NUMBER, such as 'duplicates>0' (operators: %s)", text, strings.Join(operators(), " "))
}

// of is the figure of a row; false if it was not measured.
func (t Threshold) of(row *result.Row) (float64, bool) {
	if t.kind != "" {
		return float64(row.Errors[t.kind]), true
	}
	return row.Of(t.figure.Name)
}

// Value is the median of the repeats; false if none has the figure.
func (t Threshold) Value(cell result.Cell) (float64, bool) {
	if t.kind == "" {
		return cell.Median(t.figure.Name)
	}
	most := 0.0
	for _, row := range cell.Rows {
		n, _ := t.of(row)
		most = max(most, n)
	}
	return most, true
}

// Crossed says whether the row crosses the threshold. One that has no such figure does not.
func (t Threshold) Crossed(row result.Row) bool {
	value, ok := t.of(&row)
	return ok && !t.differs && t.Holds(value)
}

// Missing says that none of the rows has what the threshold is about, so that it decides nothing.
func (t Threshold) Missing(rows []result.Row) bool {
	return !slices.ContainsFunc(rows, func(row result.Row) bool {
		_, ok := t.of(&row)
		return ok
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
	return t.differs && after != before && t.Holds(d)
}

// Holds says that a value is so.
func (t Threshold) Holds(value float64) bool {
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

// Figures are the names of all figures, in the order of the glossary.
func Figures() (names []string) {
	for _, f := range result.Figures() {
		names = append(names, f.Name)
	}
	return names
}
