package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/history"
)

// soundRun is a run of 9 s in which everything fits: every 100 ms one of two masters
// orders a room on one of two workers, five players sit down in it, and it is closed
// before the next one of its group.
func soundRun() []history.Event {
	run := world()
	run.Run.OfferedPS, run.Run.DurationNS = 50, 9000*ms
	run.Run.Planned = []history.Planned{{ID: "cut", Fault: "partition", Target: "zone:a", AtNS: 2000 * ms, ForNS: 1000 * ms}}
	events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), fault("cut", "partition", 3000, 4000, cutAC))
	for n, at := 0, int64(1000); at < 10_000; n, at = n+1, at+100 {
		master, worker, hold := fmt.Sprint("m", n%2+1), fmt.Sprint("w", n/2%2+1), fmt.Sprint("h", n)
		o := ordered{room: fmt.Sprint("R", n), worker: worker, master: master, hold: hold, from: at + 5, start: at + 10, open: at + 30, answered: at + 15, full: at + 60}
		list := o.events()
		list[len(list)-1].Room = o.room
		closed := list[0]
		closed.State, closed.AtNS = "closed", (at+90)*ms
		events = append(events, acquire(master, master, hold, at, at+4, 0), release(master, hold, at+20, at+21))
		events = append(append(events, list...), closed)
		for p := range int64(5) {
			e := match(at+12+p, at+40+p, "ok", "")
			e.Node, e.Room, e.Worker = master, o.room, worker
			events = append(events, e)
		}
	}
	return events
}

// keep drops the events that it does not want.
func keep(events []history.Event, wanted func(n int, e *history.Event) bool) []history.Event {
	var kept []history.Event
	for n := range events {
		if wanted(n, &events[n]) {
			kept = append(kept, events[n])
		}
	}
	return kept
}

// TestRecordsThatDoNotFit: a sound history from which something is taken away, or in
// which one clock is wrong, decides nothing.
func TestRecordsThatDoNotFit(t *testing.T) {
	change := func(do func(*history.Event)) func([]history.Event) []history.Event {
		return func(events []history.Event) []history.Event {
			for i := range events {
				do(&events[i])
			}
			return events
		}
	}
	drop := func(unwanted func(n int, e *history.Event) bool) func([]history.Event) []history.Event {
		return func(events []history.Event) []history.Event {
			return keep(events, func(n int, e *history.Event) bool { return !unwanted(n, e) })
		}
	}
	for name, c := range map[string]struct {
		spoil  func([]history.Event) []history.Event
		status check.Status
		why    string
	}{
		"sound": {func(e []history.Event) []history.Event { return e }, check.Expected, "No violation"},
		"every match is refused": {change(func(e *history.Event) {
			if e.Kind == history.KindMatch {
				e.Outcome, e.Error, e.Room, e.Worker = "failed", "refused", "", ""
			}
		}), check.Inconclusive, "None of 450 operations ended ok"},
		"no acquisition":                {drop(func(_ int, e *history.Event) bool { return e.Kind == history.KindAcquire }), check.Inconclusive, "Nobody got the lock"},
		"no rooms":                      {drop(func(_ int, e *history.Event) bool { return e.Kind == history.KindRoom }), check.Inconclusive, "540 matches and orders name rooms that the oracle does not know"},
		"a silent worker":               {drop(func(_ int, e *history.Event) bool { return e.Kind == history.KindRoom && e.Node == "w2" }), check.Inconclusive, "that the oracle does not know, such as R10 of g"},
		"a tenth of oracle":             {drop(func(n int, e *history.Event) bool { return e.Kind == history.KindRoom && n%11 == 0 }), check.Inconclusive, "the oracle has no beginning of"},
		"rooms that fill as they start": {drop(func(_ int, e *history.Event) bool { return e.Kind == history.KindRoom && e.State == "open" }), check.Expected, "No violation"},
		"no fault events":               {drop(func(_ int, e *history.Event) bool { return e.Kind == history.KindFault }), check.Inconclusive, "asks for the fault cut (partition on zone:a), which the ledger does not have"},
		"half of the load":              {drop(func(n int, e *history.Event) bool { return e.Kind == history.KindMatch && n%2 == 0 }), check.Inconclusive, "450 operations were to be offered, but the history has"},
		"a clock ahead": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.AtNS += 50 * ms
			}
		}), check.Inconclusive, "The records contradict each other"},
		"a clock behind": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.AtNS -= 50 * ms
			}
		}), check.Inconclusive, "The records contradict each other"},
		"a clock ahead, within its error": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.AtNS, e.ErrNS = e.AtNS+20*ms, 25*ms
			}
		}), check.Expected, "No violation"},
		"another group": {change(func(e *history.Event) {
			if e.Kind == history.KindRoom && e.Room == "R7" {
				e.Resource = "other"
			}
		}), check.Inconclusive, "room R7 is one of other to its worker, and of g to its players"},
		"a seat in a closed room": {change(func(e *history.Event) {
			if e.Kind == history.KindMatch && e.Room == "R7" {
				e.SentNS, e.AtNS = e.SentNS+80*ms, e.AtNS+80*ms
			}
		}), check.Inconclusive, "after it was closed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := check.Events(c.spoil(soundRun()), check.Options{})
			v := check.Judge(f, check.Expectation{Safety: check.Safe, Liveness: []check.Liveness{check.Live}})
			if v.Status != c.status || !strings.Contains(strings.ToLower(v.Why), strings.ToLower(c.why)) {
				t.Errorf("%s: %s\nwant %s: %s", v.Status, v.Why, c.status, c.why)
			}
		})
	}
}

// TestLastWordsOfAWorker: what a worker did in its last moment it may not have been able
// to record.
func TestLastWordsOfAWorker(t *testing.T) {
	events := keep(soundRun(), func(_ int, e *history.Event) bool { return e.Kind != history.KindRoom || e.Room != "R7" })
	safe := check.Expectation{Safety: check.Safe}
	if v := check.Judge(check.Events(events, check.Options{}), safe); v.Status != check.Inconclusive {
		t.Fatalf("%s: %s", v.Status, v.Why)
	}
	events = append(events, node("w2", "killed", 1800), node("w2", "started", 1850))
	if v := check.Judge(check.Events(events, check.Options{}), safe); v.Status != check.Expected {
		t.Errorf("%s: %s", v.Status, v.Why)
	}
}
