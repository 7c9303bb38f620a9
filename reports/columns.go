package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/result"
)

// column is one field of a result's row: how the CSV names it (with its unit) and
// how tables for people show it.
type column struct {
	Name  string // in results.csv
	Group string // of the details table
	Title string // below the group
	Text  bool   // words, not a figure
	Long  bool   // sentences, not one word
	raw   func(result.Row) string
	show  func(result.Row) string // nil: the raw text
}

// Shown is the cell for people.
func (c column) Shown(r result.Row) string {
	text := ""
	if c.show != nil {
		text = c.show(r)
	} else {
		text = c.raw(r)
	}
	if text == "" {
		return absent
	}
	return plain(text)
}

// Raw is the cell for programs: full precision, empty if absent.
func (c column) Raw(r result.Row) string { return c.raw(r) }

func columns() []column {
	all := []column{
		words("lock", "Run", "lock", func(r result.Row) string { return r.Lock }),
		words("scenario", "Run", "scenario", func(r result.Row) string { return r.Scenario }),
		words("workload", "Run", "workload", func(r result.Row) string { return r.Workload }),
		whole("repeats", "Run", "repeats", func(r result.Row) *int64 { n := int64(r.Repeats); return &n }),
		words("verdict_status", "Verdict", "status", func(r result.Row) string { return r.Verdict.Status }),
		words("verdict_safety", "Verdict", "safety", func(r result.Row) string { return r.Verdict.Safety }),
		words("verdict_liveness", "Verdict", "liveness", func(r result.Row) string { return r.Verdict.Liveness }),
		words("expected_safety", "Expected", "safety", func(r result.Row) string { return r.Verdict.Expected.Safety }),
		words("expected_liveness", "Expected", "liveness", func(r result.Row) string { return strings.Join(r.Verdict.Expected.Liveness, " or ") }),
		real64("offered_per_s", "Rate, 1/s", "offered", func(r result.Row) *float64 { return &r.OfferedPerS }),
		real64("achieved_per_s", "Rate, 1/s", "achieved", func(r result.Row) *float64 { return &r.AchievedPerS }),
		{
			Name: "availability_share", Group: "Rate, 1/s", Title: "availability",
			raw:  func(r result.Row) string { return number(&r.Availability) },
			show: func(r result.Row) string { return percent(r.Availability) },
		},
		whole("matches", "Rooms", "matches", func(r result.Row) *int64 { return nonZero(r.Matches) }),
		whole("rooms_created", "Rooms", "created", func(r result.Row) *int64 { return r.RoomsCreated }),
	}
	for _, d := range []struct {
		name string
		of   func(*result.Duplicates) int64
	}{
		{"total", func(d *result.Duplicates) int64 { return d.Total }},
		{"raced", func(d *result.Duplicates) int64 { return d.Raced }},
		{"overlooked", func(d *result.Duplicates) int64 { return d.Overlooked }},
		{"unreachable", func(d *result.Duplicates) int64 { return d.Unreachable }},
	} {
		all = append(all, whole("duplicates_"+d.name, "Duplicates", d.name, func(r result.Row) *int64 {
			if r.Duplicates == nil {
				return nil
			}
			n := d.of(r.Duplicates)
			return &n
		}))
	}
	all = append(all,
		real64("duplicates_per_1000_matches", "Duplicates", "per 1,000 matches", func(r result.Row) *float64 { return r.DuplicatesPer1000 }),
		whole("overlaps", "Holds", "overlaps", func(r result.Row) *int64 { return r.Overlaps }),
		whole("stale_writes", "Holds", "stale writes", func(r result.Row) *int64 { return r.StaleWrites }),
		whole("fenced_writes", "Holds", "fenced writes", func(r result.Row) *int64 { return r.FencedWrites }),
		real64("stall_ms", "Fault, ms", "stall", func(r result.Row) *float64 { return r.StallMS }),
		real64("recovery_ms", "Fault, ms", "recovery", func(r result.Row) *float64 { return r.RecoveryMS }),
		real64("zombie_ms", "Fault, ms", "zombie", func(r result.Row) *float64 { return r.ZombieMS }),
	)
	for _, q := range []struct {
		name, group string
		of          func(result.Row) *result.Quantiles
	}{
		{"latency", "Latency, ms", func(r result.Row) *result.Quantiles { return r.LatencyMS }},
		{"acquire", "Acquire, ms", func(r result.Row) *result.Quantiles { return r.AcquireMS }},
		{"hold", "Hold, ms", func(r result.Row) *result.Quantiles { return r.HoldMS }},
		{"fill", "Fill of rooms, ms", func(r result.Row) *result.Quantiles { return r.FillMS }},
		{"lateness", "Generator lateness, ms", func(r result.Row) *result.Quantiles { return r.LatenessMS }},
	} {
		for _, p := range []struct {
			name, title string
			of          func(*result.Quantiles) float64
		}{
			{"p50", "p50", func(q *result.Quantiles) float64 { return q.P50 }},
			{"p99", "p99", func(q *result.Quantiles) float64 { return q.P99 }},
			{"p999", "p99.9", func(q *result.Quantiles) float64 { return q.P999 }},
			{"max", "max", func(q *result.Quantiles) float64 { return q.Max }},
		} {
			all = append(all, real64(q.name+"_"+p.name+"_ms", q.group, p.title, func(r result.Row) *float64 {
				quantiles := q.of(r)
				if quantiles == nil {
					return nil
				}
				v := p.of(quantiles)
				return &v
			}))
		}
	}
	return append(all,
		real64("acquire_rtt", "Lock", "acquire p50 / RTT", func(r result.Row) *float64 { return r.AcquireRTT }),
		real64("messages_per_acquire", "Lock", "messages per acquire", func(r result.Row) *float64 { return r.MessagesPerAcquire }),
		real64("fairness_jain", "Lock", "fairness", func(r result.Row) *float64 { return r.Fairness }),
		real64("peer_fairness_jain", "Masters", "fairness", func(r result.Row) *float64 { return r.PeerFairness }),
		real64("peer_wait_max_ms", "Masters", "longest wait, ms", func(r result.Row) *float64 { return worstOf(r, longestWait) }),
		real64("peer_bypass_in_a_row_max", "Masters", "bypassed in a row", func(r result.Row) *float64 {
			return worstOf(r, func(p result.Peer) float64 { return float64(p.BypassInARowMax) })
		}),
		real64("cpu_busy_worst_host", "Machines", "CPUs busy", func(r result.Row) *float64 {
			return worstHost(r, func(h result.HostLoad) *float64 { return h.CPUBusy })
		}),
		real64("cpu_busy_worst_second", "Machines", "in the busiest second", func(r result.Row) *float64 {
			return worstHost(r, func(h result.HostLoad) *float64 { return h.CPUBusyMax })
		}),
		real64("pressure_some_worst_host", "Machines", "somebody waited", func(r result.Row) *float64 {
			return worstHost(r, func(h result.HostLoad) *float64 { return h.PressureSome })
		}),
		real64("slowdown_worst_host", "Machines", "slowdown", func(r result.Row) *float64 {
			return worstHost(r, func(h result.HostLoad) *float64 { return h.Slowdown })
		}),
		real64("late_wake_max_ms", "Machines", "late wake-up, ms", func(r result.Row) *float64 {
			return worstHost(r, func(h result.HostLoad) *float64 { return &h.LateWakeMS })
		}),
		sentence("verdict_why", "Verdict, in words", "why", func(r result.Row) string { return r.Verdict.Why }),
		sentence("fail_on", "Verdict, in words", "crossed --fail-on", func(r result.Row) string { return strings.Join(r.Verdict.FailedOns, "; ") }),
		sentence("errors", "Errors and faults", "errors", errorsText),
		whole("faults", "Errors and faults", "faults", func(r result.Row) *int64 { n := int64(len(r.Faults)); return &n }),
		whole("faults_proven", "Errors and faults", "proven", func(r result.Row) *int64 { n := proven(r); return &n }),
		sentence("histories", "Errors and faults", "histories", func(r result.Row) string { return strings.Join(r.Histories, " ") }),
	)
}

func errorsText(r result.Row) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, r.Errors[kind]))
	}
	return strings.Join(parts, " ")
}

func proven(r result.Row) int64 {
	var n int64
	for _, f := range r.Faults {
		if f.Proven {
			n++
		}
	}
	return n
}

// worstHost is the highest figure of all machines, nil if none has it.
func worstHost(r result.Row, of func(result.HostLoad) *float64) *float64 {
	var worst *float64
	for _, h := range r.Hosts {
		if v := of(h); v != nil && (worst == nil || *v > *worst) {
			worst = v
		}
	}
	return worst
}

func words(name, group, title string, of func(result.Row) string) column {
	return column{Name: name, Group: group, Title: title, Text: true, raw: of}
}

func sentence(name, group, title string, of func(result.Row) string) column {
	return column{Name: name, Group: group, Title: title, Text: true, Long: true, raw: of}
}

func whole(name, group, title string, of func(result.Row) *int64) column {
	return column{
		Name: name, Group: group, Title: title,
		raw: func(r result.Row) string {
			if n := of(r); n != nil {
				return strconv.FormatInt(*n, 10)
			}
			return ""
		},
		show: func(r result.Row) string { return countOf(of(r)) },
	}
}

func real64(name, group, title string, of func(result.Row) *float64) column {
	return column{
		Name: name, Group: group, Title: title,
		raw:  func(r result.Row) string { return number(of(r)) },
		show: func(r result.Row) string { return figureOf(of(r)) },
	}
}

// number is a figure for programs; what is not finite is absent there.
func number(v *float64) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func nonZero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
