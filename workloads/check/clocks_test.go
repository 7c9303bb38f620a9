package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// bounded sets the error bound of every event of nodes.
func bounded(errMS int64, events ...history.Event) []history.Event {
	for i := range events {
		if events[i].Node != "" {
			events[i].ErrNS = errMS * ms
		}
	}
	return events
}

// clockEvent is the bound that was known in the end.
func clockEvent(host string, errMS int64) history.Event {
	return history.Event{Kind: history.KindClock, AtNS: 11_000 * ms, Host: host, ErrNS: errMS * ms}
}

// TestShortOverlapsAreInconclusive: what is shorter than the clocks' error is
// neither a violation nor nothing, for holds and for rooms, whether the events knew
// the bound or it became known in the end.
func TestShortOverlapsAreInconclusive(t *testing.T) {
	run := func(workload string) history.Event {
		e := world()
		e.Run.Workload = workload
		return e
	}
	calm := slices.Concat(phases(0, 10_000, 10_100), players(0, 10_000, 0, 0),
		[]history.Event{acquire("m1", "a", "h9", 9000, 9005, 0), release("m1", "h9", 9006, 9007)})
	holds := func() []history.Event { // overlap from 15 to 20
		return []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}
	}
	rooms := func() []history.Event { // O is free until 315, R begins at 310
		first := ordered{room: "O", worker: "w2", master: "m2", hold: "h2", from: 10, start: 20, open: 70, answered: 75, full: 315}
		second := ordered{room: "R", worker: "w1", master: "m1", hold: "h1", from: 300, start: 310, open: 360, answered: 365}
		return append(first.events(), second.events()...)
	}
	for _, c := range []struct {
		name     string
		workload string
		events   []history.Event
		want     check.Status
		doubts   check.Doubts
	}{
		{"holds, exact clocks", "mutex", holds(), check.Violated, check.Doubts{}},
		{"holds, good clocks", "mutex", bounded(2, holds()...), check.Violated, check.Doubts{ErrorNS: 2 * ms}},
		{"holds, bad clocks", "mutex", bounded(3, holds()...), check.Inconclusive, check.Doubts{Overlaps: 1, ErrorNS: 3 * ms}},
		{"holds, clocks worse than the holds", "mutex", bounded(80, holds()...), check.Inconclusive, check.Doubts{Overlaps: 1, ErrorNS: 80 * ms}},
		{"holds, one clock drifted", "mutex", append(bounded(1, holds()...), clockEvent("hc", 4), clockEvent("ha", 0)), check.Inconclusive, check.Doubts{Overlaps: 1, ErrorNS: 4 * ms}},
		{"holds, another host's clock drifted", "mutex", append(bounded(1, holds()...), clockEvent("elsewhere", 400)), check.Violated, check.Doubts{ErrorNS: ms}},
		{"rooms, exact clocks", "matchmaking", rooms(), check.Violated, check.Doubts{}},
		{"rooms, good clocks", "matchmaking", bounded(2, rooms()...), check.Violated, check.Doubts{ErrorNS: 2 * ms}},
		{"rooms, bad clocks", "matchmaking", bounded(3, rooms()...), check.Inconclusive, check.Doubts{Rooms: 1, ErrorNS: 3 * ms}},
		{"rooms, clocks drifted", "matchmaking", append(bounded(1, rooms()...), clockEvent("ha", 4), clockEvent("hc", 2)), check.Inconclusive, check.Doubts{Rooms: 1, ErrorNS: 4 * ms}},
		{"holds of masters, good clocks", "matchmaking", bounded(2, holds()...), check.Violated, check.Doubts{ErrorNS: 2 * ms}},
		{"holds of masters, bad clocks", "matchmaking", bounded(3, holds()...), check.Inconclusive, check.Doubts{Overlaps: 1, ErrorNS: 3 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := checktest.Events(slices.Concat([]history.Event{run(c.workload)}, calm, c.events), options)
			v := check.Judge(f, history.Expect{Safety: check.Safe})
			if v.Status != c.want || f.Doubts != c.doubts {
				t.Errorf("%s: %s, doubts %+v; want %s, %+v", v.Status, v.Why, f.Doubts, c.want, c.doubts)
			}
			if v.Status == check.Inconclusive && (v.Safety != check.Safe || !strings.Contains(v.Why, "clocks")) {
				t.Errorf("%+v does not say why", v)
			}
			if n, _ := f.Violations(); (n > 0) != (c.want == check.Violated) {
				t.Errorf("%d violations", n)
			}
			if control := check.Judge(f, history.Expect{Safety: check.Unsafe}); c.want == check.Inconclusive && control.Status != check.Inconclusive {
				t.Errorf("as a control it is %s: %s", control.Status, control.Why)
			}
			if twice := check.Merge(f, f); twice.Doubts != (check.Doubts{Rooms: 2 * c.doubts.Rooms, Overlaps: 2 * c.doubts.Overlaps, ErrorNS: c.doubts.ErrorNS}) {
				t.Errorf("two repeats have %+v", twice.Doubts)
			}
		})
	}
}

// skewed are the events of nodes as their hosts' clocks have them: off by less than
// the bound, which half of them say themselves and the others learn in the end.
func skewed(t *rapid.T, events []history.Event, boundNS int64) []history.Event {
	hosts := world().Run.NodeHosts
	off := map[string]int64{}
	for _, host := range []string{"ha", "hc"} {
		off[host] = rapid.Int64Range(-boundNS, boundNS).Draw(t, host)
		if rapid.Bool().Draw(t, host+" learns it") {
			events = append(events, history.Event{Kind: history.KindClock, AtNS: 11_000 * ms, Host: host, ErrNS: boundNS})
			continue
		}
		for i := range events {
			if hosts[events[i].Node] == host {
				events[i].ErrNS = boundNS
			}
		}
	}
	for i := range events {
		for _, at := range []*int64{&events[i].AtNS, &events[i].FromNS, &events[i].SentNS} {
			if *at != 0 {
				*at += off[hosts[events[i].Node]]
			}
		}
	}
	return events
}

// TestClocksAccuseNobody: holds and rooms that never overlapped are no violation
// whatever the clocks say, as long as they are within their bounds.
func TestClocksAccuseNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(1, 60).Draw(t, "bound") * ms
		draw := func(low, high int64, what string) int64 { return rapid.Int64Range(low, high).Draw(t, what) }
		var events []history.Event
		at := int64(1000)
		for i := range draw(1, 6, "number") {
			node, worker := fmt.Sprint("m", draw(1, 2, "master")), fmt.Sprint("w", draw(1, 2, "worker"))
			hold := fmt.Sprint("h", i)
			o := ordered{room: fmt.Sprint("R", i), worker: worker, master: node, hold: hold}
			granted := at + draw(0, 20, "wait")
			o.from = granted + draw(0, 5, "think")
			o.start = o.from + draw(1, 20, "way")
			o.open = o.start + draw(1, 50, "boot")
			o.answered = o.start + draw(1, 80, "answer")
			stopped := max(o.answered, o.from) + draw(0, 5, "stop")
			o.full = max(stopped, o.open) + draw(1, 50, "fill")
			events = append(events, o.events()...)
			events = append(events, acquire(node, node, hold, at, granted, 0), release(node, hold, stopped, stopped+1))
			at = o.full
		}
		for _, workload := range []string{"mutex", "matchmaking"} {
			run := world()
			run.Run.Workload = workload
			list := skewed(t, slices.Concat(slices.Clone(events)), bound)
			f := checktest.Events(slices.Concat([]history.Event{run}, phases(0, 10_000, 10_100), list), options)
			if f.Duplicates.Total() > 0 || f.Overlaps > 0 {
				t.Fatalf("%s: %+v, %d overlaps: %+v", workload, f.Duplicates, f.Overlaps, f.Examples)
			}
		}
	})
}

// TestClocksHideNothing: an overlap that is longer than twice what both clocks may
// be off is found, and a shorter one is found or in doubt.
func TestClocksHideNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(1, 50).Draw(t, "bound") * ms
		overlap := rapid.Int64Range(1, 400).Draw(t, "overlap")
		events := []history.Event{
			acquire("m1", "a", "h1", 900, 1000, 0), release("m1", "h1", 2000, 2001),
			acquire("m2", "b", "h2", 1500, 2000-overlap, 0), release("m2", "h2", 3000, 3001),
		}
		first := ordered{room: "O", worker: "w2", master: "m2", hold: "h1", from: 1000, start: 1010, open: 1060, answered: 1065, full: 2000}
		second := ordered{room: "R", worker: "w1", master: "m1", hold: "h2", from: 1990 - overlap, start: 2000 - overlap, open: 2450, answered: 2460}
		events = append(append(events, first.events()...), second.events()...)
		run := world()
		f := checktest.Events(slices.Concat([]history.Event{run}, phases(0, 10_000, 10_100), skewed(t, events, bound)), options)
		if overlap*ms > 4*bound && (f.Overlaps != 1 || f.Duplicates.Unsafe() != 1) {
			t.Fatalf("overlap of %d ms, bound %d ms: %d overlaps, %+v", overlap, bound/ms, f.Overlaps, f.Duplicates)
		}
		if overlap*ms > 2*bound && (f.Overlaps+f.Doubts.Overlaps != 1 || f.Duplicates.Unsafe()+f.Doubts.Rooms != 1) {
			t.Fatalf("overlap of %d ms, bound %d ms: %d overlaps, %+v, %+v", overlap, bound/ms, f.Overlaps, f.Duplicates, f.Doubts)
		}
	})
}
