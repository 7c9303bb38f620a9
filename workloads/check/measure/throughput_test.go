package measure_test

import (
	"slices"
	"testing"

	"locklab/workloads/check/measure"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// TestThroughput: the highest rate that passed is the figure, and every rate is on the curve.
func TestThroughput(t *testing.T) {
	const s, ms = int64(1e9), int64(1e6)
	r := &record.Run{Head: history.Run{Workload: history.Matchmaking}, Names: []string{""}, Measure: 0, Drain: s}
	step := func(at int64, n int, late, took int64, outcome record.Outcome) {
		r.Capacities = append(r.Capacities, record.Capacity{From: at - s, Sent: at, At: at + s, State: history.CapacityMatches, Count: uint64(n)})
		for i := range n {
			due := at + int64(i)*ms
			r.Requests = append(r.Requests, record.Request{Op: record.Op{From: due, Sent: due + late, At: due + took, Outcome: record.OK, Count: 1}})
		}
		r.Requests[len(r.Requests)-1].Outcome = outcome
	}
	step(10*s, 500, ms, 5*ms, record.OK)
	step(20*s, 900, ms, 5*ms, record.Failed)
	step(30*s, 800, ms, 200*ms, record.OK)
	step(40*s, 700, 30*ms, 50*ms, record.OK)
	step(50*s, 600, ms, 90*ms, record.OK)
	m := measure.Of(r)
	var passed []bool
	for _, p := range m.Curve {
		passed = append(passed, p.OK)
	}
	if m.Figures["matches_per_s"] != 600 || !slices.Equal(passed, []bool{true, true, false, false, false}) ||
		!slices.ContainsFunc(m.Curve, func(p result.Point) bool { return p.Late && p.RatePerS == 700 }) {
		t.Errorf("%v of %+v", m.Figures["matches_per_s"], m.Curve)
	}
}
