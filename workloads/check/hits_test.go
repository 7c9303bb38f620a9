package check_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// aimed is a fault on whoever held a lock, which was m1, asked for at 3000.
func aimed(kind string) []history.Event {
	return fault("f1", kind, 3000, 8005, func(e *history.Event) { e.Target, e.Nodes = "holder (m1)", []string{"m1"} })
}

// stood is that m1 stood still from 3010, as was asked at 3005, until it was let go.
func stood() []history.Event {
	paused, resumed := node("m1", "paused", 3010), node("m1", "resumed", 8004)
	paused.FromNS, resumed.FromNS = 3005*ms, 8000*ms
	return []history.Event{paused, resumed}
}

// of has the fault aimed at whoever held the lock of one resource.
func of(resource string, fault []history.Event) []history.Event {
	for i := range fault {
		fault[i].Target = "holder-of:" + resource + " (m1)"
	}
	return fault
}

// at has the fault stop it at a point of its work.
func at(point string, fault []history.Event) []history.Event {
	for i := range fault {
		fault[i].Target = "holder at " + point + " (m1)"
	}
	return fault
}

// point is that m1 came to it.
func point(name string, at int64) history.Event {
	return history.Event{Kind: history.KindPoint, Node: "m1", State: name, AtNS: at * ms}
}

func TestFaultsOnAHolderMustHitAHold(t *testing.T) {
	held := func(from, until int64) []history.Event {
		return []history.Event{acquire("m1", "a", "h1", from-10, from, 0), releasing("m1", "h1", until)}
	}
	cutOff := fault("f1", "partition", 3000, 8005, func(e *history.Event) {
		e.Target, e.From, e.To = "holder <-> others (m1)", []string{"ha"}, []string{"hc"}
	})
	for _, c := range []struct {
		name   string
		fault  []history.Event
		events [][]history.Event
		proven bool
	}{
		{"held throughout", aimed("pause"), [][]history.Event{held(3000, 8001), stood()}, true},
		{"got it while the stop was under way", aimed("pause"), [][]history.Event{held(3007, 8001), stood()}, true},
		{"let go before it stood still", aimed("pause"), [][]history.Event{held(3000, 3008), stood()}, false},
		{"got it when it went on", aimed("pause"), [][]history.Event{held(8001, 8002), stood()}, false},
		{"another one held", aimed("pause"), [][]history.Event{{acquire("m2", "b", "h2", 2990, 3000, 0), releasing("m2", "h2", 8001)}, stood()}, false},
		{"nobody says that it stood still", aimed("pause"), [][]history.Event{held(3000, 8001)}, false},
		{"killed while it held", aimed("kill"), [][]history.Event{held(3000, 0)[:1], {killed("m1", 3005, 3010)}}, true},
		{"killed with its release under way", aimed("kill"), [][]history.Event{held(3000, 3004), {killed("m1", 3005, 3010)}}, false},
		{"aimed at the holder of another resource", of("r2", aimed("pause")), [][]history.Event{held(3000, 8001), stood()}, false},
		{"aimed at the holder of its resource", of("r", aimed("pause")), [][]history.Event{held(3000, 8001), stood()}, true},
		{"stopped at the point", at("granted", aimed("pause")), [][]history.Event{{point("granted", 3008)}, stood()}, true},
		{"stopped elsewhere", at("granted", aimed("pause")), [][]history.Event{held(3000, 8001), stood()}, false},
		{"stopped at another point", at("granted", aimed("pause")), [][]history.Event{{point("releasing", 3008)}, held(3000, 8001), stood()}, false},
		{"came to the point when it went on", at("granted", aimed("pause")), [][]history.Event{{point("granted", 8005)}, held(3000, 8001), stood()}, false},
		{"held when it was cut off", cutOff, [][]history.Event{held(2990, 3600)}, true},
		{"held before it was cut off", cutOff, [][]history.Event{held(2000, 2900)}, false},
		{"got it when it was cut off", cutOff, [][]history.Event{held(3900, 8001)}, false},
		{"another one was cut off", cutOff, [][]history.Event{{acquire("m2", "b", "h2", 2990, 3000, 0), releasing("m2", "h2", 8001)}}, false},
		{"aimed at a node by name", fault("f1", "pause", 3000, 8005, func(e *history.Event) { e.Target, e.Nodes = "node:m1", []string{"m1"} }), [][]history.Event{stood()}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := mutexRun()
			run.Run.NodeHosts = world().Run.NodeHosts
			calm, load := phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0)
			events := slices.Concat(append([][]history.Event{{run}, calm, load, c.fault}, c.events...)...)
			f := checktest.Events(events, options)
			if len(f.Faults) != 1 || f.Faults[0].Proven != c.proven {
				t.Fatalf("faults %+v, want proven %v", f.Faults, c.proven)
			}
			v := check.Judge(f, history.Expect{Safety: check.Safe})
			if !c.proven && (v.Status != check.Inconclusive || !strings.Contains(v.Why, "no hold was hit") && !strings.Contains(v.Why, "m1 was not stopped at the point granted of its work")) {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestFaultsMustBeInTheMeasuredPart(t *testing.T) {
	calm, load := phases(1000, 10_000, 10_100), players(1000, 10_000, 0, 0)
	for _, c := range []struct {
		asked, ended int64
		proven       bool
	}{{3000, 8000, true}, {9980, 10_500, true}, {9999, 10_090, false}, {10_050, 10_090, false}, {500, 900, false}, {500, 1500, true}} {
		events := slices.Concat([]history.Event{world()}, calm, load, locking(1000, 10_000, 0, 0), fault("f1", "partition", c.asked, c.ended, cutAC))
		f := checktest.Events(events, options)
		if f.Faults[0].Proven != c.proven {
			t.Errorf("%d to %d: %+v", c.asked, c.ended, f.Faults[0])
		}
		v := check.Judge(f, history.Expect{Safety: check.Safe})
		if !c.proven && (v.Status != check.Inconclusive || !strings.Contains(v.Why, "not in force in the measured part")) {
			t.Errorf("%d to %d: %+v", c.asked, c.ended, v)
		}
	}
}
