package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// asks are acquisitions of a resource that end with an error, one after the other.
func asks(resource, node, errorKind string, from, to, each int64) []history.Event {
	var list []history.Event
	for at := from; at < to; at += each {
		list = append(list, history.Event{
			Kind: history.KindAcquire, Node: node, Resource: resource, FromNS: at * ms, AtNS: (at + each) * ms, Outcome: "failed", Error: errorKind,
		})
	}
	return list
}

// refusals are such acquisitions by m1 that end at once, one now and then.
func refusals(resource, errorKind string, from, to, every int64) []history.Event {
	var list []history.Event
	for at := from; at < to; at += every {
		list = append(list, asks(resource, "m1", errorKind, at, at+1, 1)...)
	}
	return list
}

// gotten is one acquisition of the resource x that ended well, and its release.
func gotten(node, hold string, from, at, until int64) []history.Event {
	list := []history.Event{acquire(node, node+"/c", hold, from, at, 0), release(node, hold, until, until+1)}
	list[0].Resource, list[1].Resource = "x", "x"
	return list
}

// leasedRun is a run of a lock with leases of so many milliseconds.
func leasedRun(lease int64) history.Event {
	run := world()
	run.Run.LeaseNS = lease * ms
	return run
}

// TestAHealIsNoStall: nodes that were cut off, and are served as soon as the fault is over, do
// not say that the one resource that only they wanted was stuck before.
func TestAHealIsNoStall(t *testing.T) {
	cut := fault("f1", "partition", 3000, 8000, func(e *history.Event) { e.From, e.To = []string{"hc"}, []string{"ha"} })
	// As in matchmaking: waits of a second, each of which begins before the last one is over.
	waits := asks("x", "m4", "timeout", 3100, 8100, 1000)
	waits = append(waits, asks("x", "m4", "timeout", 3600, 8000, 1000)...)
	healed := history.Event{Kind: history.KindAcquire, Node: "m4", Resource: "x", Hold: "late", FromNS: 7700 * ms, AtNS: 8050 * ms, Outcome: "ok"}
	other := history.Event{Kind: history.KindAcquire, Node: "m4", Resource: "y", Hold: "other", FromNS: 7800 * ms, AtNS: 8040 * ms, Outcome: "ok"}
	_, f := judged(t, history.Expect{Liveness: []string{check.Live}}, phases(1000, 10_000, 10_100), cut, work(), waits, []history.Event{healed, other})
	if f.Longest.NS >= 1000*ms {
		t.Errorf("a stall of %d ms", f.Longest.NS/ms)
	}
}

// TestLivenessOfEachResource: a lock that grants others is not live for those who wait
// for one that is stuck; m1 is granted g all the time, m4 is not.
func TestLivenessOfEachResource(t *testing.T) {
	calm := phases(1000, 10_000, 10_100)
	cut := fault("f1", "kill", 3000, 8005, func(e *history.Event) { e.Nodes = []string{"m3"} })
	brief := fault("f0", "kill", 2000, 2300, func(e *history.Event) { e.Nodes = []string{"m3"} })
	served := work()
	for _, c := range []struct {
		name     string
		events   [][]history.Event
		liveness string
		resource string
	}{
		{"stuck until the end", [][]history.Event{asks("x", "m1", "timeout", 3100, 8100, 500)}, check.Down, "x"},
		{"stuck until the end, but perhaps for a lease", [][]history.Event{asks("x", "m1", "timeout", 3100, 8100, 500), {leasedRun(4500)}}, check.Stalls, "x"},
		{"stuck until the end, and for longer than a lease counted anew", [][]history.Event{asks("x", "m1", "timeout", 3100, 8100, 500), {leasedRun(1450)}}, check.Down, "x"},
		{"stuck, and not wanted any more before that was over", [][]history.Event{asks("x", "m1", "timeout", 3100, 7600, 500), {leasedRun(1450)}}, check.Stalls, "x"},
		{"stuck, and not wanted any more for a second", [][]history.Event{asks("x", "m1", "timeout", 3100, 6600, 500), gotten("m1", "h", 8100, 8105, 8110)}, check.Stalls, "x"},
		{"stuck for the first half", [][]history.Event{asks("x", "m1", "timeout", 3100, 5100, 500), gotten("m1", "h", 5100, 5200, 5210)}, check.Stalls, "x"},
		{"stuck for a moment", [][]history.Event{asks("x", "m1", "timeout", 3100, 3600, 100), gotten("m1", "h", 3600, 3700, 3710)}, check.Live, ""},
		{"wanted by a node that is cut off", [][]history.Event{asks("x", "m4", "timeout", 3100, 8100, 500)}, check.Live, ""},
		{"wanted by a node that is cut off later", [][]history.Event{
			asks("x", "m4", "timeout", 3100, 8100, 500), {{Kind: history.KindAcquire, Node: "m4", Resource: "y", FromNS: 4500 * ms, AtNS: 4600 * ms, Outcome: "ok"}},
		}, check.Stalls, "x"},
		{"held by somebody alive", [][]history.Event{gotten("m2", "h", 3000, 3100, 8100), asks("x", "m1", "timeout", 3100, 8100, 500)}, check.Live, ""},
		{"held by somebody who is stopped", [][]history.Event{
			gotten("m2", "h", 3000, 3100, 8100), asks("x", "m1", "timeout", 3100, 8100, 500), {node("m2", "paused", 3200), node("m2", "resumed", 8000)},
		}, check.Down, "x"},
		{"held by the dead", [][]history.Event{
			gotten("m2", "h", 3000, 3100, 8100)[:1], asks("x", "m1", "timeout", 3100, 8100, 500), {node("m2", "killed", 3200)},
		}, check.Down, "x"},
		{"refused now and then, and wanted in between", [][]history.Event{refusals("x", "unavailable", 3100, 4400, 200)}, check.Stalls, "x"},
		{"refused, and not wanted any more", [][]history.Event{asks("x", "m1", "unavailable", 3100, 3101, 1), asks("x", "m1", "unavailable", 7000, 7001, 1)}, check.Live, ""},
		{"stuck after a fault that was too short to show it", [][]history.Event{brief, asks("x", "m1", "timeout", 2100, 3900, 600), gotten("m1", "h", 3900, 4000, 4010)}, check.Stalls, "x"},
		{"stuck after such a fault, but perhaps for a lease", [][]history.Event{brief, asks("x", "m1", "timeout", 2100, 3900, 600), gotten("m1", "h", 3900, 4000, 4010), {leasedRun(1500)}}, check.Live, ""},
		{"not wanted any more", [][]history.Event{refusals("x", "canceled", 3100, 4400, 200)}, check.Live, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, f := judged(t, history.Expect{Liveness: []string{check.Live}}, append([][]history.Event{calm, cut, served}, c.events...)...)
			if f.Liveness != c.liveness || f.Stuck.Of != c.resource {
				t.Errorf("%s for %q, stall %d ms; want %s for %q", f.Liveness, f.Stuck.Of, f.Longest.NS/ms, c.liveness, c.resource)
			}
			if of, whole := f.Longest.Of, f.Whole; whole.Of != "" || whole.NS >= 500*ms || c.resource != "" && (of != c.resource || f.Longest.NS < 1000*ms) {
				t.Errorf("the longest stall is of %q, %d ms, that of the lock, which grants g all the time, %d ms", of, f.Longest.NS/ms, whole.NS/ms)
			}
			if c.resource != "" && (v.Status != check.Violated || !strings.Contains(v.Why, " for "+c.resource+":")) {
				t.Errorf("the verdict does not name %s: %+v", c.resource, v)
			}
		})
	}
}

// TestALeaseMayKeepOneResource: where a run has faults, and none is in force, one of several resources may
// be without a grant for as long as a lease, and the verdict says that it was.
func TestALeaseMayKeepOneResource(t *testing.T) {
	late := fault("f1", "kill", 8000, 9500, func(e *history.Event) { e.Nodes = []string{"m3"} })
	x := append(asks("x", "m1", "timeout", 2000, 5200, 200), gotten("m1", "h", 5190, 5200, 5210)...)
	v, f := judged(t, history.Expect{Liveness: []string{check.Live}}, phases(1000, 10_000, 10_100), []history.Event{leasedRun(3000)}, late, work(), x)
	if want := "it stayed live, but nobody got x for up to 3.2 s, as a fault began or ended or while a lease may have kept it"; f.Liveness != check.Live || !strings.Contains(v.Why, want) {
		t.Errorf("%s: no %q in %q", f.Liveness, want, v.Why)
	}
}

// TestAResourceThatWaitsLongerThanTheLock: the time in which nobody at all was granted anything is the
// resource's, too. Where others are granted meanwhile, its only waiter is cut off, and it says nothing.
func TestAResourceThatWaitsLongerThanTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		down, up int64 // of the lock
		of       string
		least    int64
	}{
		"the lock is down for the first part": {3000, 5300, "x", 2580},
		"only the waiter is cut off":          {0, 0, "", 0},
	} {
		x := append(asks("x", "m1", "timeout", 3000, 5600, 200), gotten("m1", "h", 5590, 5600, 5610)...)
		if c.up == 0 {
			for i := range x {
				x[i].Node = "m4" // who gets nothing else
			}
		}
		v, f := judged(t, history.Expect{Liveness: []string{check.Live, check.Down}}, phases(1000, 10_000, 10_100), fault("f1", "zone-partition", 3000, 5000, cutAC), players(1000, 10_000, 0, 0), locking(1000, 10_000, c.down, c.up), x)
		if want := "it was down, for at most 2.3 s"; c.of != "" && !strings.Contains(v.Why, want) { // of the lock, on beyond the fault
			t.Errorf("%s: no %q in %q", name, want, v.Why)
		}
		if f.Longest.Of != c.of || f.Longest.NS < c.least*ms || c.of == "" && f.Longest.NS > 500*ms || f.Whole.Of != "" || c.of != "" && f.Whole.NS > 2400*ms {
			t.Errorf("%s: the longest stall is of %q, %d ms, and that of the lock %d ms; want %q, %d ms", name, f.Longest.Of, f.Longest.NS/ms, f.Whole.NS/ms, c.of, c.least)
		}
	}
}

// TestWhoNoFaultCutsOffIsStuck: all clients of a node wait for one resource, and others are served others.
// Where a fault may have cut that node off, that says nothing of the resource; a zone that died did not.
func TestWhoNoFaultCutsOffIsStuck(t *testing.T) {
	run := world()
	run.Run.NodeHosts = maps.Clone(run.Run.NodeHosts)
	run.Run.NodeHosts["m4"] = "hc"
	x := append(asks("x", "m4", "timeout", 3000, 5600, 200), gotten("m1", "h", 5590, 5600, 5610)...)
	for kind, least := range map[string]int64{"zone-failure": 2580, "partition": 0} {
		broken := fault("f1", kind, 3000, 5000, func(e *history.Event) { e.From, e.To = []string{"ha"}, []string{"hc"} })
		_, f := judged(t, history.Expect{}, phases(1000, 10_000, 10_100), []history.Event{run}, broken, players(1000, 10_000, 0, 0), locking(1000, 10_000, 0, 0), x)
		if f.Longest.NS < least*ms || least == 0 && f.Longest.NS > 500*ms {
			t.Errorf("%s: the longest stall is of %q, %d ms; want %d ms", kind, f.Longest.Of, f.Longest.NS/ms, least)
		}
	}
}

// TestAWaiterInASilenceIsNotCutOff: who is granted nothing for as long as a stall, in which others were
// served for a moment only, waits like everybody. If they were served for as long, it is cut off.
func TestAWaiterInASilenceIsNotCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		up          int64 // of the lock, that grants nothing from 3000
		least, most int64
	}{
		"nobody is served meanwhile": {3900, 2600, 2700},
		"the others are":             {0, 1500, 1600},
	} {
		x := append(asks("x", "m4", "timeout", 2950, 5600, 50), gotten("m3", "hx", 5590, 5600, 5610)...)
		for _, at := range []int64{2950, 4050, 4250, 4450, 4650, 4850, 5050, 5250, 5450, 5650} {
			y := gotten("m4", fmt.Sprint("y", at), at-1, at, at+1)
			y[0].Resource, y[1].Resource = "y", "y"
			x = append(x, y...)
		}
		run := leasedRun(100)
		cut := fault("f1", "zone-partition", 3000, 4200, cutAC)
		events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), cut, players(1000, 10_000, 0, 0), locking(1000, 10_000, 3000, c.up), x)
		f := checktest.Events(events, options)
		if f.Longest.Of != "x" || f.Longest.NS < c.least*ms || f.Longest.NS > c.most*ms {
			t.Errorf("%s: the longest stall is of %q, %d ms; want x, %d ms to %d ms", name, f.Longest.Of, f.Longest.NS/ms, c.least, c.most)
		}
	}
}

// TestWhoIsCutOffIsSoSinceItsLastGrant: others are granted the resource while a node is cut off, which only
// shows in how long that node got nothing, before the last of these grants as well as after it.
func TestWhoIsCutOffIsSoSinceItsLastGrant(t *testing.T) {
	x := slices.Concat(gotten("m1", "hx1", 3690, 3700, 3710), asks("x", "m4", "timeout", 2950, 5600, 50), gotten("m3", "hx2", 5590, 5600, 5610))
	for _, at := range []int64{2950, 4450, 4650, 4850, 5050, 5250, 5450, 5650} {
		y := gotten("m4", fmt.Sprint("y", at), at-1, at, at+1)
		y[0].Resource, y[1].Resource = "y", "y"
		x = append(x, y...)
	}
	cut := fault("f1", "zone-partition", 3000, 4200, cutAC)
	f := checktest.Events(slices.Concat([]history.Event{leasedRun(100)}, phases(1000, 10_000, 10_100), cut, players(1000, 10_000, 0, 0), locking(1000, 10_000, 0, 0), x), options)
	if f.Longest.Of != "x" || f.Longest.NS < 1150*ms || f.Longest.NS > 1250*ms { // from 4450, not from 3710 on
		t.Errorf("the longest stall is of %q, %d ms; want x, 1150 ms to 1250 ms", f.Longest.Of, f.Longest.NS/ms)
	}
}
