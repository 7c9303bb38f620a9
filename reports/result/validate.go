package result

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// ErrInvalid says that a result does not follow the schema.
var ErrInvalid = errors.New("result: invalid")

func (f File) validate() error {
	if f.Schema != Schema {
		return invalid("schema", f.Schema, fmt.Sprintf("%q", Schema))
	}
	if err := validateClocks(f.Run.Clocks); err != nil {
		return err
	}
	seen := make(map[[3]string]int, len(f.Results))
	for i, row := range f.Results {
		if err := row.validate(); err != nil {
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

func (r Row) validate() error {
	for _, name := range []struct{ field, value string }{
		{"lock", r.Lock}, {"scenario", r.Scenario}, {"workload", r.Workload},
	} {
		if name.value == "" {
			return invalid(name.field, name.value, "a name")
		}
	}
	if err := r.Verdict.validate(); err != nil {
		return fmt.Errorf("verdict.%w", err)
	}
	if !(r.Availability >= 0 && r.Availability <= 1) {
		return invalid("availability", r.Availability, "a share from 0 to 1")
	}
	for _, n := range r.numbers() {
		if n.value != nil && !(*n.value >= 0) {
			return invalid(n.field, *n.value, "0 or more")
		}
	}
	for _, n := range r.counts() {
		if n.value < 0 || n.value > maxCount {
			return invalid(n.field, n.value, fmt.Sprintf("0 to %d", int64(maxCount)))
		}
	}
	if r.Repeats < 0 {
		return invalid("repeats", r.Repeats, "0 or more")
	}
	if d := r.Duplicates; d != nil && d.Total != d.Raced+d.Overlooked+d.Unreachable {
		return invalid("duplicates.total", d.Total,
			fmt.Sprintf("the sum of the causes, %d", d.Raced+d.Overlooked+d.Unreachable))
	}
	if err := validatePeers(r.Peers); err != nil {
		return err
	}
	if err := validateHosts(r.Hosts); err != nil {
		return err
	}
	for i, path := range r.Histories {
		if !filepath.IsLocal(path) {
			return invalid(fmt.Sprintf("histories[%d]", i), path, "a path below the run's directory")
		}
	}
	return nil
}

func (v Verdict) validate() error {
	for _, word := range []struct {
		field, value string
		known        []string
	}{
		{"status", v.Status, []string{StatusExpected, StatusViolated, StatusControlSilent, StatusInconclusive, StatusNotJudged}},
		{"safety", v.Safety, []string{"safe", "unsafe", SafetyNotJudged}},
		{"liveness", v.Liveness, []string{"live", "stalls", "down"}},
	} {
		// Empty is allowed: a run that ended early has rows without a verdict.
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return invalid(word.field, word.value, "one of "+strings.Join(word.known, ", "))
		}
	}
	return nil
}

func invalid(field string, have any, want string) error {
	if text, ok := have.(string); ok {
		have = fmt.Sprintf("%q", text)
	}
	return fmt.Errorf("%s: have %v, want %s: %w", field, have, want, ErrInvalid)
}

// maxCount bounds whatever is counted, so that sums of it cannot overflow.
const maxCount = 1 << 53

// count is one counted figure of a row and its name in the file.
type count struct {
	field string
	value int64
}

func (r *Row) counts() []count {
	all := []count{{"matches", r.Matches}}
	for _, c := range []struct {
		field string
		value *int64
	}{
		{"rooms_created", r.RoomsCreated},
		{"overlaps", r.Overlaps},
		{"stale_writes", r.StaleWrites},
		{"fenced_writes", r.FencedWrites},
	} {
		if c.value != nil {
			all = append(all, count{c.field, *c.value})
		}
	}
	if d := r.Duplicates; d != nil {
		all = append(all, count{"duplicates.total", d.Total}, count{"duplicates.raced", d.Raced},
			count{"duplicates.overlooked", d.Overlooked}, count{"duplicates.unreachable", d.Unreachable})
	}
	for kind, n := range r.Errors {
		all = append(all, count{"errors." + kind, n})
	}
	return all
}

// number is one measured figure of a row and its name in the file.
type number struct {
	field string
	value *float64 // nil if it is absent
	drop  func()   // removes the figure from the row
}

// numbers lists every floating-point figure of the row.
func (r *Row) numbers() []number {
	all := []number{
		{"offered_per_s", &r.OfferedPerS, func() { r.OfferedPerS = 0 }},
		{"achieved_per_s", &r.AchievedPerS, func() { r.AchievedPerS = 0 }},
		{"availability", &r.Availability, func() { r.Availability = 0 }},
	}
	for _, p := range []struct {
		field string
		at    **float64
	}{
		{"duplicates_per_1000", &r.DuplicatesPer1000},
		{"availability_outside", &r.AvailabilityOutside},
		{"availability_during", &r.AvailabilityDuring},
		{"recovery_ms", &r.RecoveryMS},
		{"stall_ms", &r.StallMS},
		{"acquire_rtt", &r.AcquireRTT},
		{"messages_per_acquire", &r.MessagesPerAcquire},
		{"fairness", &r.Fairness},
		{"peer_fairness", &r.PeerFairness},
		{"zombie_ms", &r.ZombieMS},
	} {
		all = append(all, number{p.field, *p.at, func() { *p.at = nil }})
	}
	for _, p := range []struct {
		field string
		at    **Quantiles
	}{
		{"latency_ms", &r.LatencyMS},
		{"acquire_ms", &r.AcquireMS},
		{"hold_ms", &r.HoldMS},
		{"fill_ms", &r.FillMS},
		{"lateness_ms", &r.LatenessMS},
	} {
		all = append(all, quantileNumbers(p.field, p.at)...)
	}
	for i := range r.Peers {
		all = append(all, r.Peers[i].numbers(fmt.Sprintf("peers[%d].", i))...)
	}
	for i := range r.Hosts {
		all = append(all, r.Hosts[i].numbers(fmt.Sprintf("hosts[%d].", i))...)
	}
	return all
}

func quantileNumbers(field string, at **Quantiles) []number {
	q := *at
	if q == nil {
		return nil
	}
	drop := func() { *at = nil }
	return []number{
		{field + ".p50", &q.P50, drop},
		{field + ".p99", &q.P99, drop},
		{field + ".p999", &q.P999, drop},
		{field + ".max", &q.Max, drop},
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
