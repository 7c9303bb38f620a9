// Package failon reads and applies the thresholds of --fail-on, such as
// "duplicates>0" or "latency_ms.p99>=250", with which a script turns a figure of
// result.json into an exit code.
package failon

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/result"
)

// Threshold is one condition that must not hold.
type Threshold struct {
	text   string
	metric string
	op     string
	limit  float64
}

// String is the threshold as the user wrote it.
func (t Threshold) String() string { return t.text }

// operators, longest first so that ">=" is not read as ">".
func operators() []string { return []string{">=", "<=", "==", "!=", ">", "<"} }

// Parse reads METRIC OP NUMBER. A metric is the name of a figure in a row of
// result.json, with a dot for the figures inside it; "duplicates" alone means
// duplicates.total, and a bare distribution such as "latency_ms" its p99.
func Parse(text string) (Threshold, error) {
	for _, op := range operators() {
		metric, limit, ok := strings.Cut(text, op)
		if !ok {
			continue
		}
		t := Threshold{text: text, metric: canonical(strings.TrimSpace(metric)), op: op}
		var err error
		if t.limit, err = strconv.ParseFloat(strings.TrimSpace(limit), 64); err != nil {
			return Threshold{}, fmt.Errorf("--fail-on %q: %q is not a number", text, strings.TrimSpace(limit))
		}
		if math.IsNaN(t.limit) || math.IsInf(t.limit, 0) {
			return Threshold{}, fmt.Errorf("--fail-on %q: nothing is compared with %s: want a finite number", text, strings.TrimSpace(limit))
		}
		if known := Metrics(); !slices.Contains(known, t.metric) && !strings.HasPrefix(t.metric, "errors.") {
			return Threshold{}, fmt.Errorf("--fail-on %q: unknown figure %q (known: %s, errors.KIND)", text, strings.TrimSpace(metric), strings.Join(known, ", "))
		}
		return t, nil
	}
	return Threshold{}, fmt.Errorf("--fail-on %q: want FIGURE OPERATOR NUMBER, such as 'duplicates>0' (operators: %s)", text, strings.Join(operators(), " "))
}

func canonical(metric string) string {
	switch {
	case metric == "duplicates":
		return "duplicates.total"
	case strings.HasSuffix(metric, "_ms") && slices.Contains(Metrics(), metric+".p99"):
		return metric + ".p99"
	}
	return metric
}

// Crossed says whether the row crosses the threshold. A row that has no such
// figure does not.
func (t Threshold) Crossed(row result.Row) bool {
	value, ok := figures(row)[t.metric]
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

// Metrics are the names of all figures that a row can have, sorted.
func Metrics() []string {
	var i int64
	var f float64
	full := result.Row{
		Matches: 1, RoomsCreated: &i, Duplicates: &result.Duplicates{}, DuplicatesPer1000: &f,
		Overlaps: &i, StaleWrites: &i, FencedWrites: &i, AvailabilityOutside: &f, AvailabilityDuring: &f, RecoveryMS: &f, StallMS: &f,
		LatencyMS: &result.Quantiles{}, AcquireMS: &result.Quantiles{}, HoldMS: &result.Quantiles{},
		FillMS: &result.Quantiles{}, LatenessMS: &result.Quantiles{}, AcquireRTT: &f,
		MessagesPerAcquire: &f, Fairness: &f, PeerFairness: &f, ZombieMS: &f,
	}
	return slices.Sorted(maps.Keys(figures(full)))
}

// figures flattens the numbers of a row by their JSON names.
func figures(row result.Row) map[string]float64 {
	text, err := json.Marshal(row)
	if err != nil {
		return nil // a row is plain data; a NaN in it is no figure to compare with
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil
	}
	flat := map[string]float64{}
	flatten(flat, "", tree)
	return flat
}

func flatten(into map[string]float64, prefix string, tree map[string]any) {
	for name, value := range tree {
		switch v := value.(type) {
		case float64:
			into[prefix+name] = v
		case map[string]any:
			flatten(into, prefix+name+".", v)
		}
	}
}
