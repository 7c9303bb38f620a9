package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/internal/must"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
)

// figures are those of a run of three seconds that is measured from 1 s on, that want has.
func figures(t *testing.T, want map[string]float64, events ...history.Event) {
	t.Helper()
	r, err := record.Of(append([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "mine", Workload: history.Mutex, DurationNS: 3000 * ms}},
		{Kind: history.KindPhase, State: "measure", AtNS: 1000 * ms},
		{Kind: history.KindPhase, State: "drain", AtNS: 4000 * ms},
		{Kind: history.KindPhase, State: "end", AtNS: 5000 * ms},
	}, events...))
	must.Do(t, err)
	m := check.Judge(r)
	for name, n := range want {
		got, known := m.Figures[name]
		if known != (n >= 0) || known && !cmp.Equal(got, n, cmpopts.EquateApprox(1e-9, 0)) {
			t.Errorf("%s is %v (measured: %v), want %v", name, got, known, n)
		}
	}
}

const absent = -1

func usage(from, to int64, list ...history.Usage) history.Event {
	return history.Event{Kind: history.KindUsage, FromNS: from * ms, AtNS: to * ms, Usage: list}
}

// TestUsage: what lies half in the measured part counts by its part.
func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	figures(
		t, map[string]float64{"cpus": 0.1, "memory_mib": 9},
		usage(500, 1500, history.Usage{Node: "m", CPUNS: n(400 * ms), MemoryBytes: n(9 << 20)}),
		usage(1500, 2500, history.Usage{Node: "m", CPUNS: n(100 * ms), MemoryBytes: n(7 << 20)}),
		usage(4000, 5000, history.Usage{Node: "after", CPUNS: n(5)}),
	)
}

func TestCapacity(t *testing.T) {
	cpu := func(node string, from, to, ns int64) history.Event {
		return usage(from, to, history.Usage{Node: node, CPUNS: &ns})
	}
	figures(
		t, map[string]float64{"grants_per_s": 500, "handoffs_per_s": 100, "cpu_us_per_grant": 700},
		history.Event{Kind: history.KindCapacity, State: history.CapacityOwn, FromNS: 5000 * ms, SentNS: 5500 * ms, AtNS: 7500 * ms, Count: 1000},
		history.Event{Kind: history.KindCapacity, State: history.CapacityOne, FromNS: 8000 * ms, SentNS: 8500 * ms, AtNS: 10_500 * ms, Count: 200},
		cpu("a", 4500, 5500, 900*ms), // not under load all the time
		cpu("a", 5500, 6500, 100*ms), cpu("a", 6500, 7500, 300*ms), cpu("b", 6000, 7000, 150*ms),
	)
	figures(t, map[string]float64{"grants_per_s": absent, "handoffs_per_s": absent, "cpu_us_per_grant": absent, "cpus": absent})
}

// TestRunningTotals: each life of a process counts from 0, and canaries count as acquisitions.
func TestRunningTotals(t *testing.T) {
	acquire := func(node, resource string, at int64, messages uint64) history.Event {
		return history.Event{
			Kind: history.KindAcquire, Node: node, Client: node, Resource: resource, Hold: node + time.Duration(at).String(), Outcome: "ok",
			FromNS: (at - 1) * ms, SentNS: (at - 1) * ms, AtNS: at * ms, Messages: messages,
		}
	}
	events := []history.Event{
		acquire("m1", "r", 500, 10), acquire("m1", "r", 1500, 16), acquire("m1", "canary-m1", 1600, 22), acquire("m1", "r", 1601, 20),
		{Kind: history.KindNode, Node: "m1", Host: "h", State: history.NodeKilled, FromNS: 2000 * ms, AtNS: 2001 * ms},
		{Kind: history.KindNode, Node: "m1", Host: "h", State: history.NodeStarted, AtNS: 2500 * ms},
		acquire("m1", "r", 2600, 4), acquire("m2", "r", 3000, 7), acquire("m2", "r", 4500, 70),
	}
	figures(t, map[string]float64{"messages_per_acquire": (12 + 4 + 7) / 5., "fairness": 16. / (2 * 10)}, events...)
	figures(t, map[string]float64{"messages_per_acquire": absent}, acquire("m1", "r", 1500, 0))
}

// TestOvertaken: what counts is that the same client asked later and was granted earlier, in the measured part.
func TestOvertaken(t *testing.T) {
	granted := func(client string, from, at int64) history.Event {
		return history.Event{
			Kind: history.KindAcquire, Node: "m", Client: client, Resource: "r", Hold: client + time.Duration(at).String(), Outcome: "ok",
			FromNS: from * ms, SentNS: from * ms, AtNS: at * ms,
		}
	}
	inTurn := []history.Event{granted("x", 800, 900), granted("x", 901, 1100), granted("y", 902, 1200), granted("x", 1101, 1300), granted("y", 1201, 1400)}
	over := append(inTurn, granted("x", 1301, 1500), granted("x", 1501, 1600), granted("y", 1401, 1700), granted("x", 1601, 3900), granted("x", 3901, 4100))
	for _, c := range []struct {
		want   float64
		events []history.Event
	}{
		{0, inTurn},
		{1, over}, // y from 1401 on, by x at 1600
		{2, append(slices.Clone(inTurn), granted("w", 850, 1450))}, // by x and y, twice each
		{1, append(slices.Clone(inTurn), granted("w", 905, 1450))}, // the first of each had been asked before
		{5, append(slices.Clone(over), granted("w", 850, 4200))},   // not by x at 900 and 4100
		{4, append(slices.Clone(over), granted("w", 950, 3950))},
		{absent, inTurn[:1]},
	} {
		figures(t, map[string]float64{"overtaken_max": c.want}, c.events...)
	}
	failed := granted("w", 950, 3950)
	failed.Outcome, failed.Hold, failed.Error = "timeout", "", "timeout"
	figures(t, map[string]float64{"overtaken_max": 4}, append(slices.Clone(over), failed)...)
}
