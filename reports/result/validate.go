package result

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"locklab/internal/sentence"
)

// ErrInvalid says that a result does not follow the schema, or contradicts itself.
var ErrInvalid = errors.New("result: invalid")

func (f File) validate() error {
	if f.Schema != Schema {
		return invalid("schema", f.Schema, fmt.Sprintf("%q", Schema))
	}
	if err := validateClocks(f.Run.Clocks); err != nil {
		return err
	}
	for i, warning := range f.Run.Warned {
		if err := validateSentence(fmt.Sprintf("run.warned[%d]", i), warning); err != nil {
			return err
		}
	}
	figures := Figures()
	seen := make(map[[3]string]int, len(f.Results))
	for i, row := range f.Results {
		if err := row.validate(figures); err != nil {
			return fmt.Errorf("results[%d].%w", i, err)
		}
		key := [3]string{row.Lock, row.Scenario, row.Workload}
		if first, twice := seen[key]; twice {
			return fmt.Errorf("results[%d]: %s under %s with %s is there already, as results[%d]; want each once: %w",
				i, row.Lock, row.Scenario, row.Workload, first, ErrInvalid)
		}
		seen[key] = i
	}
	return nil
}

func (r *Row) validate(figures []Figure) error {
	for _, name := range []struct{ field, value string }{
		{"lock", r.Lock}, {"scenario", r.Scenario}, {"workload", r.Workload},
	} {
		if name.value == "" {
			return invalid(name.field, name.value, "a name")
		}
	}
	for i, path := range r.Histories {
		if !filepath.IsLocal(path) {
			return invalid(fmt.Sprintf("histories[%d]", i), path, "a path below the run's directory")
		}
	}
	return cmp.Or(
		r.Verdict.validate(), r.validateNumbers(),
		eachOnce("peers[%d].node", "master", r.Peers, func(p Peer) string { return p.Node }), validatePeers(r.Peers),
		eachOnce("hosts[%d].host", "host", r.Hosts, func(h HostLoad) string { return h.Host }),
		eachOnce("nodes[%d].node", "node", r.Nodes, func(n NodeLoad) string { return n.Node }),
		r.validateFigures(figures), r.contradiction(figures),
	)
}

// eachOnce wants a name of each, and no name twice.
func eachOnce[T any](field, what string, all []T, name func(T) string) error {
	seen := make(map[string]bool, len(all))
	for i, one := range all {
		n := name(one)
		if n == "" || seen[n] {
			return invalid(fmt.Sprintf(field, i), n, "the name of a "+what+", each once")
		}
		seen[n] = true
	}
	return nil
}

func (v *Verdict) validate() error {
	for _, word := range []struct {
		field, value string
		known        []string
	}{
		{"status", v.Status, []string{StatusExpected, StatusViolated, StatusControlSilent, StatusInconclusive, StatusNotJudged}},
		{"safety", v.Safety, []string{Safe, Unsafe, SafetyNotJudged}},
		{"liveness", v.Liveness, []string{"live", "stalls", "down", "dead", LivenessNotJudged}},
	} {
		// Empty is allowed: a run that ended early has rows without a verdict.
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return invalid("verdict."+word.field, word.value, "one of "+strings.Join(word.known, ", "))
		}
	}
	if v.Own != nil {
		if err := validateSentence("verdict.own.reason", v.Own.Reason); err != nil {
			return err
		}
	}
	return validateSentence("verdict.reason", v.Reason)
}

// validateSentence refuses what could be written and never be read again.
func validateSentence(field string, t sentence.Text) error {
	if depth := t.Depth(); depth > sentence.Deepest {
		return invalid(field, depth, fmt.Sprintf("clauses that are put into each other at most %d deep", sentence.Deepest))
	}
	return nil
}

// maxCount bounds whatever is counted, so that sums of it cannot overflow and a float
// has all of its digits.
const maxCount = 1 << 53

// validateNumbers refuses what nothing can be, wherever it stands in the row.
func (r *Row) validateNumbers() (err error) {
	eachNumber(reflect.ValueOf(r).Elem(), "", nil, func(path string, v reflect.Value, _ func()) {
		switch {
		case err != nil:
		case v.CanFloat() && !(v.Float() >= 0):
			err = invalid(path, v.Float(), "0 or more")
		case v.CanInt() && (v.Int() < 0 || v.Int() > maxCount):
			err = invalid(path, v.Int(), fmt.Sprintf("0 to %d", int64(maxCount)))
		}
	})
	return err
}

// rounding is how far a share may be above 1, for the digits of a float.
const rounding = 1e-9

// validateFigures holds the figures against their own bounds and against each other.
func (r *Row) validateFigures(figures []Figure) error {
	for _, f := range figures {
		v, ok := f.value(*r)
		if raw, there := r.Measured[f.Field]; there && !ok {
			return invalid(f.Field, raw, "a number")
		}
		if !ok || f.Field == "" {
			continue
		}
		if !(v >= 0) {
			return invalid(f.Field, v, "0 or more")
		}
		if f.Most > 0 && v > f.Most+rounding {
			return invalid(f.Field, v, fmt.Sprintf("0 to %v", f.Most))
		}
		if limit, known := r.number(f.Within); known && v > limit {
			return invalid(f.Field, v, fmt.Sprintf("at most %s, %v", f.Within, limit))
		}
	}
	for _, share := range []float64{r.Verdict.Expected.Outside, r.Verdict.Expected.During} {
		if share > 1 {
			return invalid("verdict.expected", share, "shares from 0 to 1")
		}
	}
	if d := r.Duplicates; d != nil && d.Total != d.Raced+d.Overlooked+d.Unreachable {
		return invalid("duplicates.total", d.Total, fmt.Sprintf("the sum of the causes, %d", d.Raced+d.Overlooked+d.Unreachable))
	}
	return nil
}

// contradiction holds the verdict against what it is a verdict on. What a file leaves
// out contradicts nothing.
func (r *Row) contradiction(figures []Figure) error {
	v, want := &r.Verdict, &r.Verdict.Expected
	if seen := r.violation(figures); v.Safety == Unsafe && seen == "" {
		return invalid("verdict.safety", v.Safety, "something that was violated: no duplicate of the lock's, overlap or violations_at_ms is there")
	} else if seen != "" && v.Safety != Unsafe && v.Safety != "" {
		return invalid("verdict.safety", v.Safety, fmt.Sprintf("%q, because %s", Unsafe, seen))
	}
	// What ended before anything was measured says only what was seen until then.
	early := r.MeasuredMS == 0 && (v.Status == StatusInconclusive || v.Status == StatusViolated)
	switch {
	case v.Safety == SafetyNotJudged && want.Safety != "" && !early:
		return invalid("verdict.safety", v.Safety, "a judgement: expected.safety is "+want.Safety)
	case len(v.FailedOns) > 0 && v.Status != StatusViolated:
		return invalid("verdict.status", v.Status, fmt.Sprintf("%q, because a fail_on was crossed", StatusViolated))
	case v.Status == StatusExpected && want.Safety != "" && v.Safety != "" && v.Safety != want.Safety:
		return invalid("verdict.status", v.Status, fmt.Sprintf("another: it is %s, expected.safety is %s", v.Safety, want.Safety))
	case v.Liveness == LivenessNotJudged && len(want.Liveness) > 0 && len(want.Liveness) < 3 && !early:
		return invalid("verdict.liveness", v.Liveness, "a judgement: expected.liveness is "+strings.Join(want.Liveness, " or "))
	case v.Status == StatusExpected && !want.fares(v.Liveness):
		return invalid("verdict.status", v.Status, fmt.Sprintf("another: liveness is %s, expected.liveness %s", v.Liveness, strings.Join(want.Liveness, " or ")))
	case v.Status == StatusControlSilent && (want.Safety == Safe || v.Safety == Unsafe):
		return invalid("verdict.status", v.Status, "another: only what is expected to be unsafe, and is not, is a silent control")
	case v.Status == StatusNotJudged && (want.Safety != "" || len(want.Liveness) > 0 && len(want.Liveness) < 3 || want.Outside > 0 || want.During > 0):
		return invalid("verdict.status", v.Status, "a verdict: the scenario expects something")
	case v.Status == StatusNotJudged && v.Safety == Safe:
		return invalid("verdict.safety", v.Safety, fmt.Sprintf("%q, as the whole row", SafetyNotJudged))
	}
	return nil
}

// violation is one thing that makes the row unsafe; "" if there is none.
func (r *Row) violation(figures []Figure) string {
	for _, f := range figures {
		if n, _ := f.Of(*r); f.Unsafe && n > 0 {
			return fmt.Sprintf("%s is %v", f.Field, n)
		}
	}
	if n := len(r.ViolationsAtMS); n > 0 {
		return fmt.Sprintf("violations_at_ms has %d", n)
	}
	return ""
}

// fares says whether the liveness is expected. What was down for a short fault may as
// well have stalled; dead is never expected.
func (e *Expected) fares(liveness string) bool {
	return len(e.Liveness) == 0 && liveness != "dead" || liveness == "" || liveness == LivenessNotJudged || slices.Contains(e.Liveness, liveness) ||
		liveness == "down" && slices.Contains(e.Liveness, "stalls")
}

func invalid(field string, have any, want string) error {
	if text, ok := have.(string); ok {
		have = fmt.Sprintf("%q", text)
	}
	return fmt.Errorf("%s: have %v, want %s: %w", field, have, want, ErrInvalid)
}
