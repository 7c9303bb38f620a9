package check_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/history"
)

// loss is a host that went away at a time, in milliseconds.
func loss(host string, at int64, nodes ...string) []history.Event {
	events := []history.Event{{
		Kind: history.KindFault, AtNS: at * ms, ID: "lost/" + host, Fault: history.FaultHostLoss, Target: "host " + host,
		State: "began", From: []string{host}, Nodes: nodes,
	}}
	for _, n := range nodes {
		events = append(events, history.Event{Kind: history.KindNode, AtNS: at * ms, Host: host, Node: n, State: "lost"})
	}
	return events
}

// TestLostHostIsNoVerdict: what nobody asked for decides nothing, except what was
// seen before it.
func TestLostHostIsNoVerdict(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	work := work()
	twice := raced()
	for name, tt := range map[string]struct {
		lost   []history.Event
		twice  []history.Event
		want   history.Expect
		status check.Status
	}{
		"nothing else":     {loss("hw1", 3000, "w1"), nil, history.Expect{Safety: check.Safe}, check.Inconclusive},
		"a control":        {loss("hw1", 1000, "w1"), twice, history.Expect{Safety: check.Unsafe}, check.Inconclusive},
		"violation before": {loss("hw1", 4000, "w1"), twice, history.Expect{Safety: check.Safe}, check.Violated},
		"violation after":  {loss("hm1", 1500, "m1"), twice, history.Expect{Safety: check.Safe}, check.Inconclusive},
		"not lost":         {nil, twice, history.Expect{Safety: check.Safe}, check.Violated},
	} {
		v, f := judged(t, tt.want, calm, work, tt.twice, tt.lost)
		if v.Status != tt.status {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
		if tt.lost != nil && v.Status == check.Inconclusive && !strings.Contains(v.Why, "was lost at") {
			t.Errorf("%s: the reason does not name the loss: %s", name, v.Why)
		}
		if want := min(len(tt.lost), 1); len(f.Losses()) != want {
			t.Errorf("%s: %d losses, want %d", name, len(f.Losses()), want)
		}
	}
}

// TestRunThatNeverStarted: a history of nothing but the loss that prevented it.
func TestRunThatNeverStarted(t *testing.T) {
	v, f := judged(t, history.Expect{Safety: check.Safe}, loss("hw1", 0, "w1"))
	if v.Status != check.Inconclusive || !strings.Contains(v.Why, "Host hw1 was lost") {
		t.Errorf("%s: %s", v.Status, v.Why)
	}
	if n := f.AchievedPS() + f.OfferedPS() + f.DuplicatesPer1000(); n != 0 {
		t.Errorf("figures of a run that never was: %v", n)
	}
}

// TestRoomsGoWithTheirHost: a room of a lost worker is no reason to call the next
// one a duplicate.
func TestRoomsGoWithTheirHost(t *testing.T) {
	a := ordered{room: "A", worker: "w1", master: "m1", hold: "x1", from: 2000, start: 2010, open: 2060, answered: 2070}
	b := ordered{room: "B", worker: "w2", master: "m2", hold: "x2", from: 4000, start: 4010, open: 4060, answered: 4070}
	rooms := append(a.events(), b.events()...)
	if _, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), rooms); f.Duplicates.Total() != 1 {
		t.Fatalf("without the loss B should be a duplicate: %+v", f.Duplicates)
	}
	if _, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), rooms, loss("hw1", 3000, "w1")); f.Duplicates.Total() != 0 {
		t.Errorf("A went with its host, and yet: %+v", f.Duplicates)
	}
}

// TestDeathsNobodyAskedFor: a process that ended, or stood still, by no hand of the lab
// decides nothing, and is named.
func TestDeathsNobodyAskedFor(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	work := work()
	twice := raced()
	exited := func(at int64) history.Event {
		e := node("w1", history.NodeExited, at)
		e.Error = "signal-killed"
		return e
	}
	aborted := exited(3000)
	aborted.Error = "signal-aborted"
	full := fault("power", "full-disk", 2500, 4000, func(e *history.Event) { e.Nodes = []string{"w1"} })
	byExternal := fault("power", "external", 2500, 4000, func(e *history.Event) { e.Nodes = []string{"w1"} })
	toxic := func(at int64) history.Event {
		return history.Event{Kind: history.KindFault, AtNS: at * ms, ID: "hand/hm1/1", Fault: history.FaultByHand, Target: "link hm1 to w1/control", State: "began", From: []string{"hm1"}}
	}
	little := 10 * ms
	for name, c := range map[string]struct {
		events []history.Event
		status check.Status
		why    string
	}{
		"killed by hand":           {[]history.Event{exited(3000)}, check.Inconclusive, "Node w1 ended (signal-killed) at 2 s, which no fault of the scenario explains."},
		"killed before violations": {append([]history.Event{exited(1500)}, twice...), check.Inconclusive, "Node w1 ended (signal-killed) at 500 ms, which no fault of the scenario explains; there were 1 duplicate"},
		"killed after a violation": {append([]history.Event{exited(4000)}, twice...), check.Violated, "1 raced"},
		"a toxic by hand":          {[]history.Event{toxic(3000)}, check.Inconclusive, "Link hm1 to w1/control was broken by hand at 2 s"},
		"a toxic before":           {append([]history.Event{toxic(1500)}, twice...), check.Inconclusive, "Link hm1 to w1/control was broken by hand at 500 ms"},
		"a toxic after":            {append([]history.Event{toxic(4000)}, twice...), check.Violated, "1 raced"},
		"by a fault":               {[]history.Event{node("w1", "killed", 3000)}, check.Expected, ""},
		"of a full disk":           {append(slices.Clone(full), aborted), check.Expected, ""},
		"killed while it was full": {append(slices.Clone(full), exited(3000)), check.Inconclusive, "Node w1 ended (signal-killed) at 2 s"},
		"of a slow disk":           {append(fault("power", "slow-disk", 2500, 4000, func(e *history.Event) { e.Nodes = []string{"w1"} }), exited(3000)), check.Inconclusive, "Node w1 ended"},
		"by an external fault":     {append(byExternal, exited(3000)), check.Expected, ""},
		"when all was over":        {[]history.Event{exited(10_200)}, check.Expected, ""},
		"stopped by hand": {
			[]history.Event{node("w1", history.NodeSuspended, 3000), node("w1", history.NodeContinued, 4500)},
			check.Inconclusive, "Node w1 stood still for 1.5 s at 2 s",
		},
		"stopped before violations": {
			append([]history.Event{node("w1", history.NodeSuspended, 1900), node("w1", history.NodeContinued, 3400)}, twice...),
			check.Inconclusive, "Node w1 stood still for 1.5 s at 900 ms",
		},
		"paused by a fault": {[]history.Event{node("w1", "paused", 3000), node("w1", "resumed", 4500)}, check.Expected, ""},
		"an agent": {
			[]history.Event{{Kind: history.KindMachine, Host: "ha", FromNS: 2900 * ms, AtNS: 5200 * ms, Machine: &history.Machine{CPUs: 2, WaitNS: &little, LateNS: 2200 * ms}}},
			check.Inconclusive, "The agent of host ha stood still for 2.2 s at 2 s",
		},
		"the controller": {
			append([]history.Event{{Kind: history.KindMachine, FromNS: 900 * ms, AtNS: 2000 * ms, Machine: &history.Machine{CPUs: 2, LateNS: 1000 * ms}}}, twice...),
			check.Inconclusive, "The controller stood still for 1 s at 0 s",
		},
	} {
		v, f := judged(t, history.Expect{Safety: check.Safe, Liveness: []string{check.Live}}, calm, work, c.events)
		if v.Status != c.status || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
		if v.Status == check.Inconclusive && len(f.Losses()) != 1 {
			t.Errorf("%s: the ledger has %+v", name, f.Faults)
		}
	}
}

// TestABusyMachineDidNotStandStill: its processes were ready to run, and it says so.
func TestABusyMachineDidNotStandStill(t *testing.T) {
	waited := 4000 * ms
	busy := history.Event{Kind: history.KindMachine, FromNS: 2900 * ms, AtNS: 5200 * ms, Machine: &history.Machine{CPUs: 2, WaitNS: &waited, LateNS: 2200 * ms}}
	v, f := judged(t, history.Expect{Safety: check.Safe}, phases(1000, 10_000, 10_100), work(), []history.Event{busy})
	if v.Status != check.Inconclusive || !strings.Contains(v.Why, "saturated") || len(f.Losses()) > 0 {
		t.Errorf("%s: %s; lost %+v", v.Status, v.Why, f.Losses())
	}
}
