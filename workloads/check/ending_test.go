package check_test

import (
	"slices"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// waiting is who still waited for a resource when the time was over.
func waiting(resource string, from int64) []history.Event {
	return []history.Event{{
		Kind: history.KindAcquire, Node: "m1", Client: "w", Resource: resource, FromNS: from * ms, SentNS: from * ms, AtNS: 10_050 * ms, Outcome: "failed", Error: "called-off",
	}}
}

// TestWhoWaitsAtTheEnd: the end of a run hides no outage. Who waited for nobody was not
// served, and a lock that is dead after the heal is not live; who waited for others, or for
// a lease that nobody gave back, is in no figure but his own.
func TestWhoWaitsAtTheEnd(t *testing.T) {
	run := world()
	run.Run.Workload, run.Run.OfferedPS, run.Run.LeaseNS = history.Mutex, 0, 2000*ms
	healed := fault("f1", "kill", 3000, 5000, func(e *history.Event) { e.Nodes = []string{"m3"} })
	x := func(hold string, from, until int64) []history.Event { return gotten("m2", hold, from, from+3, until) }
	for name, c := range map[string]struct {
		last, wait     []history.Event
		calledOff, bad int64
		liveness       string
	}{
		"dead for good soon after the heal": {nil, waiting("r", 5500), 0, 1, check.Down},
		"dead at the end":                   {locking(5500, 8500, 0, 0), waiting("r", 8500), 0, 1, check.Stalls},
		"one resource of two is dead":       {slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 8000, 8100)), waiting("x", 8000), 0, 1, check.Stalls},
		"refused to the end":                {nil, locking(5500, 10_000, 5500, 10_000), 0, 9, check.Down},
		"others were served":                {locking(5500, 10_000, 0, 0), waiting("r", 6000), 1, 0, check.Live},
		"somebody held it to the end":       {slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 6000, 10_049)), waiting("x", 6000), 1, 0, check.Live},
		"the lease of one who did not release": {
			slices.Concat(locking(5500, 10_000, 0, 0), x("hx", 6000, 9000)[:1], []history.Event{{Kind: history.KindLost, Node: "m2", Hold: "hx", Resource: "x", AtNS: 7900 * ms}}),
			waiting("x", 6000), 1, 0, check.Live,
		},
		"for a moment": {locking(5500, 9900, 0, 0), waiting("r", 9900), 1, 0, check.Live},
	} {
		t.Run(name, func(t *testing.T) {
			events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), healed, locking(1000, 5500, 0, 0), c.last, c.wait)
			f := checktest.Events(events, options)
			if f.CalledOff != c.calledOff || f.Counts["called_off"] != c.calledOff || f.Failed != c.bad || f.Liveness != c.liveness || f.StallNS > 4500*ms { // of the measured part
				t.Errorf("%d called off, %d failed, %s for %q, stall %d ms; want %d, %d, %s", f.CalledOff, f.Failed, f.Liveness, f.StuckResource, f.StallNS/ms, c.calledOff, c.bad, c.liveness)
			}
		})
	}
}
