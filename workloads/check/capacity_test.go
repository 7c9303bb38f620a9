package check_test

import (
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// TestCapacity: grants per second are of the counted time, CPU time of the samples in which the
// load was on from end to end; repeats add up, and neither moves the end of the history.
func TestCapacity(t *testing.T) {
	cpu := func(node string, from, at, ns int64) history.Event {
		return history.Event{Kind: history.KindUsage, FromNS: from * ms, AtNS: at * ms, Usage: []history.Usage{{Node: node, CPUNS: &ns}}}
	}
	events := []history.Event{
		{Kind: history.KindRun, AtNS: 1, Run: &history.Run{Schema: history.Schema, Workload: history.Mutex, DurationNS: 1000 * ms}},
		{Kind: history.KindPhase, AtNS: 1000 * ms, State: "measure"},
		{Kind: history.KindPhase, AtNS: 2000 * ms, State: "drain"},
		{Kind: history.KindPhase, AtNS: 2100 * ms, State: "end"},
		{Kind: history.KindCapacity, State: history.CapacityOwn, FromNS: 3000 * ms, SentNS: 3500 * ms, AtNS: 5500 * ms, Count: 4000},
		{Kind: history.KindCapacity, State: history.CapacityOne, FromNS: 5500 * ms, SentNS: 6000 * ms, AtNS: 8000 * ms, Count: 300},
		cpu("m", 2500, 3500, 900*ms), // half of it before the load
		cpu("m", 3500, 4500, 400*ms),
		cpu("m", 4500, 5500, 200*ms),
		cpu("s", 3700, 4700, 100*ms), // another host samples at other moments
		cpu("m", 5500, 6500, 1000*ms),
	}
	f := checktest.Events(events, check.Options{Workloads: []check.Workload{check.Mutex()}})
	for _, found := range []*check.Findings{f, check.Merge(f, f)} {
		if perS, _ := found.Own.PerS(); perS != 2000 {
			t.Errorf("%v grants/s, want 2000", perS)
		}
		if perS, _ := found.One.PerS(); perS != 150 {
			t.Errorf("%v handoffs/s, want 150", perS)
		}
		if ns, known := found.Own.CPUPerGrantNS(); !known || ns != 200_000 { // (0.3 + 0.1) CPUs for 2 s, over 4000 grants
			t.Errorf("%v ns of CPU per grant (%v), want 200000", ns, known)
		}
	}
	if none := checktest.Events(events[:4], check.Options{Workloads: []check.Workload{check.Mutex()}}); none.Own != (check.Capacity{}) {
		t.Errorf("no measurement, and %+v", none.Own)
	}
}
