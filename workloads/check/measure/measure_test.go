package measure_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/workloads/check/measure"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// ms is a time of a history, in milliseconds.
func ms(n int64) int64 { return n * int64(time.Millisecond) }

// figures are those of a run of three seconds that is measured from 1 s on, that want has.
func figures(t *testing.T, want map[string]float64, events ...history.Event) result.Row {
	t.Helper()
	r, err := record.Of(append([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "mine", Workload: history.Mutex, DurationNS: ms(3000)}},
		{Kind: history.KindPhase, State: "measure", AtNS: ms(1000)},
		{Kind: history.KindPhase, State: "drain", AtNS: ms(4000)},
		{Kind: history.KindPhase, State: "end", AtNS: ms(5000)},
	}, events...))
	if err != nil {
		t.Fatal(err)
	}
	m := measure.Of(r)
	for name, n := range want {
		got, known := m.Figures[name]
		if known != (n >= 0) || known && !cmp.Equal(got, n, cmpopts.EquateApprox(1e-9, 0)) {
			t.Errorf("%s is %v (measured: %v), want %v", name, got, known, n)
		}
	}
	return m
}

const absent = -1

func usage(from, to int64, list ...history.Usage) history.Event {
	return history.Event{Kind: history.KindUsage, FromNS: ms(from), AtNS: ms(to), Usage: list}
}

// TestUsage: what lies half in the measured part counts by its part.
func TestUsage(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	figures(
		t, map[string]float64{"cpus": 0.1, "memory_mib": 9},
		usage(500, 1500, history.Usage{Node: "m", CPUNS: n(ms(400)), MemoryBytes: n(9 << 20)}),
		usage(1500, 2500, history.Usage{Node: "m", CPUNS: n(ms(100)), MemoryBytes: n(7 << 20)}),
		usage(4000, 5000, history.Usage{Node: "after", CPUNS: n(5)}),
	)
}

func TestCapacity(t *testing.T) {
	cpu := func(node string, from, to, ns int64) history.Event {
		return usage(from, to, history.Usage{Node: node, CPUNS: &ns})
	}
	figures(
		t, map[string]float64{"grants_per_s": 500, "handoffs_per_s": 100, "cpu_us_per_grant": 700},
		history.Event{Kind: history.KindCapacity, State: history.CapacityOwn, FromNS: ms(5000), SentNS: ms(5500), AtNS: ms(7500), Count: 1000},
		history.Event{Kind: history.KindCapacity, State: history.CapacityOne, FromNS: ms(8000), SentNS: ms(8500), AtNS: ms(10_500), Count: 200},
		cpu("a", 4500, 5500, ms(900)), // not under load all the time
		cpu("a", 5500, 6500, ms(100)), cpu("a", 6500, 7500, ms(300)), cpu("b", 6000, 7000, ms(150)),
	)
	figures(t, map[string]float64{"grants_per_s": absent, "handoffs_per_s": absent, "cpu_us_per_grant": absent, "cpus": absent})
}

// TestRunningTotals: each life of a process counts from 0, and canaries count as acquisitions.
func TestRunningTotals(t *testing.T) {
	acquire := func(node, resource string, at int64, messages uint64) history.Event {
		return history.Event{
			Kind: history.KindAcquire, Node: node, Client: node, Resource: resource, Hold: node + time.Duration(at).String(), Outcome: "ok",
			FromNS: ms(at - 1), SentNS: ms(at - 1), AtNS: ms(at), Messages: messages,
		}
	}
	events := []history.Event{
		acquire("m1", "r", 500, 10), acquire("m1", "r", 1500, 16), acquire("m1", "canary-m1", 1600, 22), acquire("m1", "r", 1601, 20),
		{Kind: history.KindNode, Node: "m1", Host: "h", State: history.NodeKilled, FromNS: ms(2000), AtNS: ms(2001)},
		{Kind: history.KindNode, Node: "m1", Host: "h", State: history.NodeStarted, AtNS: ms(2500)},
		acquire("m1", "r", 2600, 4), acquire("m2", "r", 3000, 7), acquire("m2", "r", 4500, 70),
	}
	figures(t, map[string]float64{"messages_per_acquire": (12 + 4 + 7) / 5., "fairness": 16. / (2 * 10)}, events...)
	figures(t, map[string]float64{"messages_per_acquire": absent}, acquire("m1", "r", 1500, 0))
}
