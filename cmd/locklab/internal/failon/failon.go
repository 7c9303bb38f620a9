// Package failon reads and applies the thresholds of --fail-on, such as
// "duplicates>0" or "latency_ms.p99>=250", with which a script turns a figure of
// result.json into an exit code.
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
}

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
		limit, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return Threshold{}, fmt.Errorf("--fail-on %q: %q is not a number", text, number)
		}
		if math.IsNaN(limit) || math.IsInf(limit, 0) {
			return Threshold{}, fmt.Errorf("--fail-on %q: nothing is compared with %s: want a finite number", text, number)
		}
		for _, field := range []string{name, name + ".total", name + ".p99"} {
			if f, known := result.Lookup(field); known {
				return Threshold{text: text, figure: f, op: op, limit: limit}, nil
			}
		}
		return Threshold{}, fmt.Errorf("--fail-on %q: unknown figure %q (known: %s, errors.KIND)%s", text, name, strings.Join(Figures(), ", "), nearest.Hint(name, Figures()))
	}
	return Threshold{}, fmt.Errorf("--fail-on %q: want FIGURE OPERATOR NUMBER, such as 'duplicates>0' (operators: %s)", text, strings.Join(operators(), " "))
}

// Crossed says whether the row crosses the threshold. A row that has no such
// figure does not.
func (t Threshold) Crossed(row result.Row) bool {
	value, ok := t.figure.Of(row)
	if !ok {
		return false
	}
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
