package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// soundRun is a run of 9 s in which everything fits and nothing is missing: every 100 ms
// one of two masters orders a room on one of two workers, five players sit down in it,
// and it is closed before the next one of its group. Its records bear no numbers.
func soundRun() []history.Event {
	run := world()
	r := run.Run
	r.OfferedPS, r.DurationNS, r.Seats, r.Expect = 50, 9000*ms, 5, &history.Expect{Safety: "safe", Liveness: []string{"live"}}
	r.HostZones = map[string]string{"ha": "a", "hc": "c"}
	r.Planned = []history.Planned{{ID: "cut", Fault: "partition", Target: "zone:a", AtNS: 2000 * ms, ForNS: 1000 * ms}}
	events := slices.Concat([]history.Event{run}, phases(1000, 10_000, 10_100), fault("cut", "partition", 3000, 4000, cutAC))
	for _, name := range []string{"m1", "m2", "w1", "w2"} {
		events = append(events, node(name, "started", 20), node(name, "ready", 19), node(name, "stopped", 10_200))
	}
	for at := int64(500); at < 10_500; at += 500 {
		events = append(events, history.Event{Kind: history.KindMachine, FromNS: at * ms, AtNS: (at + 500) * ms, Machine: &history.Machine{CPUs: 2}})
	}
	player := 0
	for n, at := 0, int64(1000); at < 10_000; n, at = n+1, at+100 {
		master, worker, hold := fmt.Sprint("m", n%2+1), fmt.Sprint("w", n/2%2+1), fmt.Sprint("h", n)
		o := ordered{room: fmt.Sprint("R", n), worker: worker, master: master, hold: hold, from: at + 5, start: at + 10, open: at + 30, answered: at + 15, full: at + 60}
		list := o.events()
		list[len(list)-1].Room = o.room
		closed := list[0]
		closed.State, closed.AtNS = "closed", (at+90)*ms
		list = append(list, closed)
		for i := range list {
			list[i].Client = master
		}
		locked := []history.Event{acquire(master, master, hold, at, at+4, 0), releasing(master, hold, at+20), release(master, hold, at+20, at+21)}
		for i := range locked {
			locked[i].Resource = "g"
		}
		events = append(append(events, locked...), list...)
		for p := range int64(5) {
			e := match(at+12+p, at+40+p, "ok", "")
			e.Node, e.Room, e.Worker, e.Client = master, o.room, worker, fmt.Sprint("p", player)
			player++
			events = append(events, e)
		}
	}
	return events
}

// numbered gives the events the numbers that today's programs give them.
func numbered(events []history.Event) []history.Event {
	counts := map[string]uint64{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case history.KindAcquire, history.KindReleasing, history.KindRelease, history.KindOrder, history.KindRoom:
			counts[e.Node]++
			e.Seq = counts[e.Node]
		default:
			counts[""]++
			e.Line = counts[""]
		}
	}
	return events
}

// drop takes the events away that it does not want.
func drop(unwanted func(n int, e *history.Event) bool) func([]history.Event) []history.Event {
	return func(events []history.Event) []history.Event {
		var kept []history.Event
		for n := range events {
			if !unwanted(n, &events[n]) {
				kept = append(kept, events[n])
			}
		}
		return kept
	}
}

// dropOne takes one event of a kind away.
func dropOne(kind history.Kind, state string) func([]history.Event) []history.Event {
	gone := false
	return drop(func(_ int, e *history.Event) bool {
		here := !gone && e.Kind == kind && e.State == state && e.AtNS > 5000*ms
		gone = gone || here
		return here
	})
}

// change alters events one by one.
func change(do func(e *history.Event)) func([]history.Event) []history.Event {
	return func(events []history.Event) []history.Event {
		for i := range events {
			do(&events[i])
		}
		return events
	}
}

// TestRecordsThatDoNotFit: a sound history from which something is taken away, in which
// something is there twice, or one clock is wrong, decides nothing.
func TestRecordsThatDoNotFit(t *testing.T) {
	is := func(e *history.Event, kinds ...history.Kind) bool { return slices.Contains(kinds, e.Kind) }
	masters := []history.Kind{history.KindAcquire, history.KindOrder, history.KindReleasing, history.KindRelease}
	for name, c := range map[string]struct {
		spoil  func([]history.Event) []history.Event
		status check.Status
		why    string
	}{
		"sound": {func(e []history.Event) []history.Event { return e }, check.Expected, "No violation"},
		"every match is refused": {change(func(e *history.Event) {
			if is(e, history.KindMatch) {
				e.Outcome, e.Error, e.Room, e.Worker = "failed", "refused", "", ""
			}
		}), check.Inconclusive, "None of 450 operations ended ok"},
		"no acquisition": {drop(func(_ int, e *history.Event) bool { return is(e, history.KindAcquire) }), check.Inconclusive, "the acquisition of hold h0"},
		"a tenth of the acquisitions": {
			drop(func(n int, e *history.Event) bool { return is(e, history.KindAcquire) && n%10 == 0 }),
			check.Inconclusive, "the acquisition of hold h",
		},
		"no rooms":                      {drop(func(_ int, e *history.Event) bool { return is(e, history.KindRoom) }), check.Inconclusive, "atches and orders of rooms that the oracle does not know: "},
		"a silent worker":               {drop(func(_ int, e *history.Event) bool { return is(e, history.KindRoom) && e.Node == "w2" }), check.Inconclusive, "that the oracle does not know: 264, such as room R10 of g"},
		"a silent master":               {drop(func(_ int, e *history.Event) bool { return is(e, masters...) && e.Node == "m2" }), check.Inconclusive, "issing records: 45, such as the order of room R1"},
		"no orders":                     {drop(func(_ int, e *history.Event) bool { return is(e, history.KindOrder) }), check.Inconclusive, "issing records: 90, such as the order of room R0"},
		"a tenth of oracle":             {drop(func(n int, e *history.Event) bool { return is(e, history.KindRoom) && n%11 == 0 }), check.Inconclusive, "ooms without a beginning at the oracle"},
		"rooms that fill as they start": {drop(func(_ int, e *history.Event) bool { return e.State == "open" }), check.Expected, "No violation"},
		"a room that was never full":    {dropOne(history.KindRoom, "full"), check.Inconclusive, "room R40 was never full, and yet 5 players got a seat in it"},
		"a room that closed early": {func(events []history.Event) []history.Event {
			events[0].Run.Seats = 6
			return dropOne(history.KindRoom, "full")(events)
		}, check.Inconclusive, "room R40 was closed, but never full"},
		"a room with a seat left at the end": {func(events []history.Event) []history.Event {
			events[0].Run.Seats = 6 // of the full ones, one answer each was lost
			for i, e := range events {
				if e.Room == "R89" && e.State == "closed" {
					events[i].AtNS = 10_200 * ms // as its worker stops
				}
			}
			return slices.DeleteFunc(events, func(e history.Event) bool { return e.Room == "R89" && e.State == "full" })
		}, check.Expected, "No violation"},
		"no room was ever full":        {drop(func(_ int, e *history.Event) bool { return e.State == "full" }), check.Inconclusive, "issing records: 90, such as room R0 was never full, and yet 5 players"},
		"a room that was never closed": {dropOne(history.KindRoom, "closed"), check.Inconclusive, "the end of room R40, whose worker was stopped in order"},
		"a room full, then open": {change(func(e *history.Event) {
			if e.State == "open" && e.Room == "R7" {
				e.AtNS += 40 * ms
			}
		}), check.Inconclusive, "room R7 was open after it was full"},
		"one room name for all": {change(func(e *history.Event) {
			if e.Room != "" {
				e.Room = "R"
			}
		}), check.Inconclusive, "ontradictions in the records"},
		"a hold without an end": {
			drop(func(_ int, e *history.Event) bool {
				return is(e, history.KindRelease, history.KindReleasing) && e.Hold == "h40"
			}), check.Inconclusive, "issing records: 1, such as the release of hold h40",
		},
		"one name for all holds": {change(func(e *history.Event) {
			if e.Hold != "" {
				e.Hold = "h"
			}
		}), check.Inconclusive, "ontradictions in the records"},
		"no name for holds":   {change(func(e *history.Event) { e.Hold = "" }), check.Inconclusive, "the acquisition of hold ?, under which the order"},
		"a resource for each": {change(func(e *history.Event) { e.Resource += map[bool]string{true: e.Hold}[is(e, history.KindAcquire)] }), check.Inconclusive, "the hold h0 is one of"},
		"released before it was held": {change(func(e *history.Event) {
			if is(e, history.KindRelease) && e.Hold == "h40" {
				e.FromNS, e.AtNS = e.FromNS-20*ms, e.AtNS-20*ms
			}
		}), check.Inconclusive, "the order o-R40 was made while its hold h40 was not held"},
		"answered before it was asked for": {change(func(e *history.Event) {
			if is(e, history.KindAcquire) {
				e.FromNS, e.AtNS = e.AtNS, e.FromNS
			}
		}), check.Inconclusive, "was answered before it was asked for"},
		"no fault events": {drop(func(_ int, e *history.Event) bool { return is(e, history.KindFault) }), check.Inconclusive, "asks for the fault cut (partition of zone:a), which the ledger does not have"},
		"a fault 3 s late": {
			change(func(e *history.Event) { e.AtNS += map[bool]int64{true: 3000 * ms}[is(e, history.KindFault)] }),
			check.Inconclusive, "the fault cut (partition of zone:a) was to begin at 2 s, and was asked for at 5 s",
		},
		"a fault 3 s long": {change(func(e *history.Event) {
			e.AtNS += map[bool]int64{true: 3500 * ms}[e.State == "ended" || e.State == "heal-asked"]
		}), check.Inconclusive, "was to last for 1 s, and its end was asked for after 4.5 s"},
		"half of the load": {drop(func(n int, e *history.Event) bool { return is(e, history.KindMatch) && n%2 == 0 }), check.Inconclusive, "such as the matches of some of the players p0 to p44"},
		"one match":        {dropOne(history.KindMatch, ""), check.Inconclusive, "issing records: 1, such as the matches of some"},
		"no matches":       {drop(func(_ int, e *history.Event) bool { return is(e, history.KindMatch) }), check.Inconclusive, "all matches"},
		"no machine":       {drop(func(_ int, e *history.Event) bool { return is(e, history.KindMachine) }), check.Inconclusive, "what the CPUs of the controller's machine did in the measured part"},
		"a sample less":    {dropOne(history.KindMachine, ""), check.Inconclusive, "what the CPUs of the controller's machine did for 500 ms"},
		"no hosts":         {change(func(e *history.Event) { e.Run = without(e.Run, func(r *history.Run) { r.NodeHosts = nil }) }), check.Inconclusive, "the header does not say on which host"},
		"no zones":         {change(func(e *history.Event) { e.Run = without(e.Run, func(r *history.Run) { r.HostZones = nil }) }), check.Inconclusive, "the header does not say on which host, or in which zone"},
		"no drain":         {drop(func(_ int, e *history.Event) bool { return e.State == "drain" }), check.Inconclusive, "the beginning of the phase drain"},
		"a node's end":     {dropOne(history.KindNode, "stopped"), check.Inconclusive, "the end of node m1"},
		"a node's start":   {drop(func(_ int, e *history.Event) bool { return e.State == "started" && e.Node == "w1" }), check.Inconclusive, "the beginning of node w1"},
		"a node that ran before, and runs on": {change(func(e *history.Event) {
			if e.Node == "w1" && is(e, history.KindNode) {
				e.State = map[string]string{"started": history.NodeShared, "stopped": history.NodeLeft}[e.State]
			}
		}), check.Expected, "No violation"},
		"all twice": {func(e []history.Event) []history.Event { return append(e, e[1:]...) }, check.Inconclusive, "are there twice"},
		"a clock ahead": {change(func(e *history.Event) {
			e.AtNS += map[bool]int64{true: 50 * ms}[e.Node == "w2" && is(e, history.KindRoom)]
		}), check.Inconclusive, "ontradictions in the records"},
		"a clock behind": {change(func(e *history.Event) {
			e.AtNS -= map[bool]int64{true: 50 * ms}[e.Node == "w2" && is(e, history.KindRoom)]
		}), check.Inconclusive, "ontradictions in the records"},
		"a clock ahead, within its error": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.AtNS, e.ErrNS = e.AtNS+20*ms, 25*ms
			}
		}), check.Expected, "No violation"},
		"how far clocks were off": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.Host, e.ErrNS = "hc", ms
			}
		}), check.Inconclusive, "how far the clock of host hc was off in the end"},
		"another group": {change(func(e *history.Event) {
			if is(e, history.KindRoom) && e.Room == "R7" {
				e.Resource = "other"
			}
		}), check.Inconclusive, "room R7 is one of other to its worker, and of g to its players"},
		"a seat in a closed room": {change(func(e *history.Event) {
			if is(e, history.KindMatch) && e.Room == "R7" {
				e.SentNS, e.AtNS = e.SentNS+80*ms, e.AtNS+80*ms
			}
		}), check.Inconclusive, "after it was closed"},
		"long names are cut": {change(func(e *history.Event) { e.Room += strings.Repeat("x", 3000*len(e.Room)) }), check.Expected, "No violation"},
		"long names are cut where they are told": {func(e []history.Event) []history.Event {
			return dropOne(history.KindRoom, "full")(change(func(e *history.Event) { e.Room = strings.Repeat(e.Room, 300) })(e))
		}, check.Inconclusive, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			f := checktest.Events(c.spoil(soundRun()), options)
			v := check.Judge(f, check.ExpectationOf(f.Run))
			if v.Status != c.status || !strings.Contains(strings.ToLower(v.Why), strings.ToLower(c.why)) || len(v.Why) > 500 {
				t.Errorf("%s: %s\nwant %s: %s", v.Status, v.Why, c.status, c.why)
			}
		})
	}
}

// without is a copy of the run that lacks something.
func without(r *history.Run, what func(*history.Run)) *history.Run {
	if r == nil {
		return nil
	}
	lacking := *r
	what(&lacking)
	return &lacking
}

// TestLostRecords: whatever is taken from a numbered history, or put into it twice, is
// seen; of an older one it is, unless it says nothing of the lock.
func TestLostRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // which records are spoiled need not be a secret
	sound, withNumbers := soundRun(), numbered(soundRun())
	for try := range 200 {
		events, older := slices.Clone(withNumbers), try%2 == 0
		if older {
			events = slices.Clone(sound)
		}
		n, drop := 1+random.IntN(20), random.IntN(2) == 0
		var gone []string
		harmless := true
		for range n {
			i := 1 + random.IntN(len(events)-1)
			e := events[i]
			gone = append(gone, fmt.Sprint(e.Kind, " ", e.State))
			// A hold that is said to end twice may lose one of them.
			harmless = harmless && (e.State == "ready" || e.State == "open" || e.Kind == history.KindRelease)
			if drop {
				events = slices.Delete(events, i, i+1)
			} else {
				events = append(events, e)
			}
		}
		f := checktest.Events(events, options)
		v := check.Judge(f, check.ExpectationOf(f.Run))
		if v.Status != check.Inconclusive && (!older || !harmless && (drop || v.Status != check.Expected)) {
			t.Fatalf("try %d: dropped %v of %v: %s: %s", try, drop, gone, v.Status, v.Why)
		}
	}
}

// TestNumbersOfLives: they begin anew with each life of a process, whose last ones may be
// lost with it.
func TestNumbersOfLives(t *testing.T) {
	safe := history.Expect{Safety: check.Safe}
	of := func(numbers ...uint64) check.Verdict {
		events := append(soundRun(), node("m9", "started", 30), killed("m9", 900, 901), node("m9", "started", 950), node("m9", "stopped", 10_200))
		events[0].Run.NodeHosts["m9"] = "ha"
		for i, n := range numbers {
			events = append(events, history.Event{Kind: history.KindGrant, Node: "m9", AtNS: int64(i), Seq: n})
		}
		return check.Judge(checktest.Events(events, options), safe)
	}
	for _, whole := range [][]uint64{{}, {1}, {1, 2, 3}, {1, 2, 3, 1, 2}, {1, 1}} {
		if v := of(whole...); v.Status != check.Expected {
			t.Errorf("%v: %s: %s", whole, v.Status, v.Why)
		}
	}
	for _, broken := range [][]uint64{{2}, {1, 3}, {1, 2, 4, 1, 2}, {1, 1, 1}, {1, 2, 2}, {1, 2, 3, 2, 3}} {
		if v := of(broken...); v.Status != check.Inconclusive || !strings.Contains(v.Why, "of what m9 recorded") {
			t.Errorf("%v: %s: %s", broken, v.Status, v.Why)
		}
	}
}

// TestLastWords: what a process did in its last moment it may not have been able to record.
func TestLastWords(t *testing.T) {
	for name, c := range map[string]struct {
		node string
		gone func(e *history.Event) bool
		at   int64
	}{
		"a worker's rooms":                               {"w2", func(e *history.Event) bool { return e.Kind == history.KindRoom && e.Room == "R7" }, 1795},
		"a worker's last room, closed":                   {"w2", func(e *history.Event) bool { return e.Room == "R7" && (e.State == "closed" || e.State == "full") }, 1795},
		"a master's order":                               {"m2", func(e *history.Event) bool { return e.Kind == history.KindOrder && e.Room == "R7" }, 1795},
		"an order that arrived when its master was dead": {"m2", func(e *history.Event) bool { return e.Kind == history.KindOrder && e.Room == "R7" }, 1708},
		"a master's release": {"m2", func(e *history.Event) bool {
			return e.Hold == "h7" && (e.Kind == history.KindRelease || e.Kind == history.KindReleasing)
		}, 1795},
	} {
		events := drop(func(_ int, e *history.Event) bool { return c.gone(e) })(soundRun())
		safe := history.Expect{Safety: check.Safe}
		if v := check.Judge(checktest.Events(events, options), safe); v.Status != check.Inconclusive {
			t.Fatalf("%s: %s: %s", name, v.Status, v.Why)
		}
		events = append(events, killed(c.node, c.at, c.at+1), node(c.node, "started", 1797))
		if v := check.Judge(checktest.Events(events, options), safe); v.Status != check.Expected {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
	}
}
