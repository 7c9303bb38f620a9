package check_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

const ms = int64(1e6)

// soundRun is a run of 9 s in which everything fits and nothing is missing: every 100 ms one of
// two masters orders a room on one of two workers, five players sit down in it, and it is closed
// before the next one. A fault cuts one host off from 3 s to 4 s.
func soundRun() []history.Event {
	r := &history.Run{
		Schema: history.Schema, Lock: "raft", Workload: history.Matchmaking, OfferedPS: 50, DurationNS: 9000 * ms, Seats: 5,
		NodeHosts: map[string]string{"m1": "ha", "w1": "ha", "m2": "hc", "w2": "hc"},
		HostZones: map[string]string{"ha": "a", "hc": "c"},
		Expect:    &history.Expect{Safety: "safe", Liveness: []string{"live"}},
		Planned:   []history.Planned{{ID: "cut", Fault: "partition", Target: "zone:a", AtNS: 2000 * ms, ForNS: 1000 * ms}},
	}
	events := []history.Event{{Kind: history.KindRun, Run: r}}
	for _, p := range []struct {
		state string
		at    int64
	}{{"warmup", 0}, {"measure", 1000}, {"drain", 10_000}, {"end", 10_100}} {
		events = append(events, history.Event{Kind: history.KindPhase, State: p.state, AtNS: p.at * ms})
	}
	events = append(events, fault("cut", "partition", 3000, 4000, history.Event{From: []string{"ha"}, To: []string{"hc"}})...)
	for _, name := range []string{"m1", "m2", "w1", "w2"} {
		events = append(events, node(name, "started", 20), node(name, "ready", 19), node(name, "stopped", 10_200))
	}
	for at := int64(500); at < 10_500; at += 500 {
		events = append(events, history.Event{Kind: history.KindMachine, FromNS: at * ms, AtNS: (at + 500) * ms, Machine: &history.Machine{CPUs: 2}})
	}
	for n := range int64(90) {
		master, worker := fmt.Sprint("m", n%2+1), fmt.Sprint("w", n/2%2+1)
		events = append(events, held(master, fmt.Sprint("h", n), 1000+n*100, 1020+n*100)...)
		events = append(events, seated(n, master, worker, 1000+n*100)...)
	}
	for at := int64(1000); at < 10_000; at += 100 {
		for _, master := range []string{"m1", "m2"} {
			events = append(events, history.Event{
				Kind: history.KindAcquire, Node: master, Client: "canary", Resource: history.CanaryPrefix + master, Outcome: "ok",
				FromNS: at * ms, AtNS: (at + 1) * ms,
			})
		}
	}
	return events
}

// held is a hold of g: asked for 4 ms before it began, and released a millisecond after it ended.
func held(master, hold string, from, to int64) []history.Event {
	e := history.Event{Node: master, Client: master, Hold: hold, Resource: "g", Outcome: "ok"}
	acquire, releasing, release := e, e, e
	acquire.Kind, acquire.FromNS, acquire.AtNS = history.KindAcquire, from*ms, (from+4)*ms
	releasing.Kind, releasing.AtNS = history.KindReleasing, to*ms
	release.Kind, release.FromNS, release.AtNS = history.KindRelease, to*ms, (to+1)*ms
	return []history.Event{acquire, releasing, release}
}

// seated is a room that is ordered at a time, with its five players.
func seated(n int64, master, worker string, at int64) (events []history.Event) {
	e := history.Event{Client: master, Room: fmt.Sprint("R", n), Order: fmt.Sprint("o-R", n), Resource: "g"}
	for i, state := range []string{"starting", "open", "full", "closed"} {
		room := e
		room.Kind, room.Node, room.State, room.AtNS = history.KindRoom, worker, state, (at+[]int64{10, 30, 60, 90}[i])*ms
		events = append(events, room)
	}
	order := e
	order.Kind, order.Node, order.Worker, order.Hold, order.Outcome = history.KindOrder, master, worker, fmt.Sprint("h", n), "ok"
	order.FromNS, order.AtNS = (at+5)*ms, (at+15)*ms
	events = append(events, order)
	for p := range int64(5) {
		events = append(events, history.Event{
			Kind: history.KindMatch, Node: master, Client: fmt.Sprint("p", 5*n+p), Resource: "g", Room: e.Room, Worker: worker, Outcome: "ok",
			FromNS: (at + 12 + p) * ms, SentNS: (at+12+p)*ms + 1000, AtNS: (at + 40 + p) * ms,
		})
	}
	return events
}

// killed is the end of a process that was asked for at one time and seen at another.
func killed(name string, asked, seen int64) history.Event {
	e := node(name, "killed", seen)
	e.FromNS = asked * ms
	return e
}

func fault(id, kind string, asked, ended int64, e history.Event) (ledger []history.Event) {
	e.Kind, e.ID, e.Fault, e.Target = history.KindFault, id, kind, cmp.Or(e.Target, "t")
	for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
		e.State, e.AtNS = state, []int64{asked, asked + 5, ended - 5, ended}[i]*ms
		ledger = append(ledger, e)
	}
	return ledger
}

// numbered gives the events the numbers that the lab's programs give them.
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

func soundnessOf(t *testing.T, events []history.Event) result.Statement {
	t.Helper()
	r, err := record.Of(events)
	must.Do(t, err)
	return check.Judge(r).Verdict.Sound
}

type spoil func([]history.Event) []history.Event

// drop takes the events away that it does not want.
func drop(unwanted func(e *history.Event) bool) spoil {
	return func(events []history.Event) []history.Event {
		return slices.DeleteFunc(events, func(e history.Event) bool { return unwanted(&e) })
	}
}

// change alters events one by one.
func change(do func(e *history.Event)) spoil {
	return func(events []history.Event) []history.Event {
		for i := range events {
			do(&events[i])
		}
		return events
	}
}

// head alters what the run says of itself.
func head(do func(r *history.Run)) spoil {
	return change(func(e *history.Event) {
		if e.Run != nil {
			do(e.Run)
		}
	})
}

// more adds events.
func more(lists ...[]history.Event) spoil {
	return func(events []history.Event) []history.Event { return append(events, slices.Concat(lists...)...) }
}

// TestSpoiled: a sound run from which something is taken away, in which something is there
// twice, or one clock is wrong, decides nothing.
func TestSpoiled(t *testing.T) {
	is := func(e *history.Event, kinds ...history.Kind) bool { return slices.Contains(kinds, e.Kind) }
	acquire, match, order, room, releases := history.KindAcquire, history.KindMatch, history.KindOrder, history.KindRoom, []history.Kind{history.KindReleasing, history.KindRelease}
	exited := func(node_, why string, at int64) history.Event {
		e := node(node_, history.NodeExited, at)
		e.Error = why
		return e
	}
	machine := func(host string, from, to int64, m history.Machine) []history.Event {
		return []history.Event{{Kind: history.KindMachine, Host: host, FromNS: from * ms, AtNS: to * ms, Machine: &m}}
	}
	w1 := history.Event{Nodes: []string{"w1"}}
	full, external := w1, w1
	full.Aim, external.Aim = &history.Aim{Exits: history.ExitsAlone}, &history.Aim{Exits: history.ExitsSignal}
	program := func(servers ...string) spoil {
		return head(func(r *history.Run) { r.Program = &history.Program{Servers: servers} })
	}
	const quiet = result.Code("")
	for name, c := range map[string]struct {
		spoil spoil
		code  result.Code
		of    string
	}{
		"sound":                         {more(), quiet, ""},
		"rooms that fill as they start": {drop(func(e *history.Event) bool { return e.State == "open" }), quiet, ""},
		"a room with a seat left at the end": {func(events []history.Event) []history.Event {
			events = head(func(r *history.Run) { r.Seats = 6 })(events)
			return drop(func(e *history.Event) bool { return e.Room == "R89" && e.State == "full" })(change(func(e *history.Event) {
				if e.Room == "R89" && e.State == "closed" {
					e.AtNS = 10_200 * ms // as its worker stops
				}
			})(events))
		}, quiet, ""},
		"a clock ahead, within its error": {change(func(e *history.Event) {
			if e.Node == "w2" {
				e.AtNS, e.ErrNS = e.AtNS+20*ms, 25*ms
			}
		}), quiet, ""},

		"of a full disk":           {more([]history.Event{exited("w1", "signal-aborted", 3000), node("w1", "started", 3500)}, fault("f", "full-disk", 2500, 4000, full)), quiet, ""},
		"killed while it was full": {more([]history.Event{exited("w1", "signal-killed", 3000)}, fault("f", "full-disk", 2500, 4000, full)), result.NodeLost, "node w1"},
		"killed by a program":      {more([]history.Event{exited("w1", "signal-killed", 3000), node("w1", "started", 3500)}, fault("f", "external", 2500, 4000, external)), quiet, ""},
		"of a slow disk":           {more([]history.Event{exited("w1", "signal-aborted", 3000)}, fault("f", "slow-disk", 2500, 4000, w1)), result.NodeLost, "node w1"},
		"when all was over": {change(func(e *history.Event) {
			if e.Node == "w1" && e.State == "stopped" {
				e.State, e.Error = history.NodeExited, "signal-killed"
			}
		}), quiet, ""},
		"the agent stood still":      {more(machine("ha", 2900, 5200, history.Machine{CPUs: 2, LateNS: 2200 * ms, WaitNS: 10 * ms})), result.Standstill, "the agent of host ha"},
		"a disk that takes long":     {more(machine("", 2000, 4000, history.Machine{CPUs: 2, FsyncNS: 700 * ms})), result.Saturated, "the controller"},
		"the controller stood still": {more(machine("", 10_500, 11_000, history.Machine{CPUs: 2, LateNS: 1400 * ms})), result.Standstill, "the controller"},

		"a fault 3 s late": {change(func(e *history.Event) { e.AtNS += map[bool]int64{true: 3000 * ms}[is(e, history.KindFault)] }), result.Unproven, "cut: asked for at the wrong time"},
		"the search for a primary": {change(func(e *history.Event) {
			if e.Run != nil {
				e.Run.Planned[0].Aim.At = history.AimPrimary
			}
			e.AtNS += map[bool]int64{true: 2000 * ms}[is(e, history.KindFault)]
		}), quiet, ""},
		"a fault before the measured": {more(fault("f", "partition", 500, 900, history.Event{From: []string{"ha"}, To: []string{"hc"}})), result.Unproven, "f"},

		"no acquisition":        {drop(func(e *history.Event) bool { return is(e, acquire) }), result.Missing, "the acquisition of hold h0"},
		"a silent worker":       {drop(func(e *history.Event) bool { return is(e, room) && e.Node == "w2" }), result.Missing, "the beginning of room R10"},
		"a silent master":       {drop(func(e *history.Event) bool { return is(e, append(releases, acquire, order)...) && e.Node == "m2" }), result.Missing, "the order of room R1"},
		"a hold without an end": {drop(func(e *history.Event) bool { return is(e, releases...) && e.Hold == "h40" }), result.Missing, "the release of hold h40"},
		"no name for holds":     {change(func(e *history.Event) { e.Hold = "" }), result.Missing, "the acquisition of the hold of order o-R0"},
		"no machine":            {drop(func(e *history.Event) bool { return is(e, history.KindMachine) }), result.Missing, "samples of the machine of the controller"},
		"no drain":              {drop(func(e *history.Event) bool { return e.State == "drain" }), result.Missing, "the beginning of the phase drain"},

		"a room full, then open": {change(func(e *history.Event) {
			if e.State == "open" && e.Room == "R7" {
				e.AtNS += 40 * ms
			}
		}), result.Contradiction, "the order of the states of room R7"},
		"one room name for all":  {change(func(e *history.Event) { e.Room = e.Room[:min(1, len(e.Room))] }), result.Contradiction, "room R does not fit its order"},
		"one name for all holds": {change(func(e *history.Event) { e.Hold = e.Hold[:min(1, len(e.Hold))] }), result.Contradiction, "the acquisition of hold h, twice"},
		"a resource for each":    {change(func(e *history.Event) { e.Resource += map[bool]string{true: e.Hold}[is(e, acquire)] }), result.Contradiction, "the order o-R0 was made without its hold"},
		"released before it was held": {change(func(e *history.Event) {
			if is(e, history.KindRelease) && e.Hold == "h40" {
				e.FromNS, e.AtNS = e.FromNS-20*ms, e.AtNS-20*ms
			}
		}), result.Contradiction, "the order o-R40 was made without its hold"},
		"answered before it was asked for": {change(func(e *history.Event) {
			if is(e, acquire) {
				e.FromNS, e.AtNS = e.AtNS, e.FromNS
			}
		}), result.Contradiction, "the event acquire of canary was answered before it was asked for"},
		"all twice": {func(e []history.Event) []history.Event { return append(e, e[1:]...) }, result.Contradiction, "twice"},
		"a clock ahead": {
			change(func(e *history.Event) { e.AtNS += map[bool]int64{true: 50 * ms}[e.Node == "w2" && is(e, room)] }),
			result.Contradiction, "room R10 does not fit its order",
		},
		"a clock behind": {
			change(func(e *history.Event) { e.AtNS -= map[bool]int64{true: 50 * ms}[e.Node == "w2" && is(e, room)] }),
			result.Contradiction, "room R10 does not fit its order",
		},
		"another group": {change(func(e *history.Event) {
			if is(e, room) && e.Room == "R7" {
				e.Resource = "other"
			}
		}), result.Contradiction, "room R7 does not fit its order"},

		"others fill it":              {change(func(e *history.Event) { busy(e, 970*ms, 20*ms, 200*ms, 0) }), result.Saturated, "the controller"},
		"some waiting, and CPUs free": {change(func(e *history.Event) { busy(e, 600*ms, 20*ms, 200*ms, 0) }), quiet, ""},
		"a timer that is a bit late":  {change(func(e *history.Event) { busy(e, 600*ms, 20*ms, 100*ms, 400*ms) }), quiet, ""},

		"ended early":             {head(func(r *history.Run) { r.DurationNS += 3000 * ms }), result.LateLoad, "ended after 9.0 s of 12.0 s"},
		"played, and ended early": {head(func(r *history.Run) { r.DurationNS, r.Played = 60_000*ms, true }), quiet, ""},
		"players stop too early": {drop(func(e *history.Event) bool { // of 90 more that were to come in 1.8 s
			var n int
			_, _ = fmt.Sscanf(e.Client, "p%d", &n)
			return is(e, match) && n >= 360
		}), result.LateLoad, "no client asked in the last 1.884s"},
		"little of the load": {head(func(r *history.Run) { r.OfferedPS = 500 }), result.LateLoad, "450 of 4500 requests"},
		"requests that leave late": {change(func(e *history.Event) {
			if is(e, match) {
				e.FromNS -= 60 * ms
			}
		}), result.LateLoad, "half of the requests late by 60ms"},

		"a file, and a partition":       {program(), result.LinksUnused, "raft"},
		"a server that nothing counted": {program("s1"), quiet, ""},
		"every match is refused": {change(func(e *history.Event) {
			if is(e, match) {
				e.Outcome, e.Error, e.Room, e.Worker = "failed", "refused", "", ""
			}
		}), result.NothingToJudge, "requests"},
	} {
		t.Run(name, func(t *testing.T) {
			s := soundnessOf(t, c.spoil(soundRun()))
			if s.Code != c.code || !strings.HasPrefix(s.Of, c.of) && c.of != "twice" || (s.State == result.OK) != (c.code == quiet) {
				t.Errorf("%+v, want %s: %s", s, c.code, c.of)
			}
		})
	}
}

// busy fills in a sample of two CPUs that lasts half a second.
func busy(e *history.Event, busy, run, wait, late int64) {
	if e.Kind == history.KindMachine {
		e.Machine = &history.Machine{CPUs: 2, BusyNS: busy, RunNS: run, WaitNS: wait, LateNS: late}
	}
}

// TestLostRecords: whatever is taken from a numbered history, or put into it twice, is seen.
func TestLostRecords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for try := range 200 {
		events := numbered(soundRun())
		var gone []string
		for range 1 + random.IntN(20) {
			i := 1 + random.IntN(len(events)-1)
			gone = append(gone, fmt.Sprint(events[i].Kind, " ", events[i].State))
			if try%2 == 0 {
				events = slices.Delete(events, i, i+1)
			} else {
				events = append(events, events[i])
			}
		}
		if s := soundnessOf(t, events); s.State == result.OK {
			t.Fatalf("try %d: %v: %+v", try, gone, s)
		}
	}
}

// TestNumbersOfLives: they begin anew with each life of a process, whose last ones may be lost
// with it.
func TestNumbersOfLives(t *testing.T) {
	of := func(numbers ...uint64) result.Statement {
		events := append(numbered(soundRun()), node("m9", "started", 30), killed("m9", 900, 901), node("m9", "started", 950), node("m9", "stopped", 10_200))
		for i := range events[len(events)-4:] {
			events[len(events)-4+i].Line = events[len(events)-5].Line + uint64(i) + 1 //nolint:gosec // few
		}
		events = numbered(events)
		events[0].Run.NodeHosts["m9"] = "ha"
		events = append(events, fault("f9", "kill", 890, 1100, history.Event{Nodes: []string{"m9"}})...)
		for i, n := range numbers {
			events = append(events, history.Event{Kind: history.KindLost, Node: "m9", AtNS: int64(i), Seq: n})
		}
		return soundnessOf(t, events)
	}
	for _, whole := range [][]uint64{{}, {1}, {1, 2, 3}, {1, 2, 3, 1, 2}, {1, 1}} {
		if s := of(whole...); s.State != result.OK {
			t.Errorf("%v: %+v", whole, s)
		}
	}
	for _, broken := range [][]uint64{{2}, {1, 3}, {1, 2, 4, 1, 2}, {1, 1, 1}, {1, 2, 2}, {1, 2, 3, 2, 3}} {
		if s := of(broken...); s.State == result.OK || !strings.Contains(s.Of, "of the records of m9") {
			t.Errorf("%v: %+v", broken, s)
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
		"a worker's last room, closed":                   {"w2", func(e *history.Event) bool { return e.Room == "R7" && e.State == "closed" }, 1795},
		"a master's order":                               {"m2", func(e *history.Event) bool { return e.Kind == history.KindOrder && e.Room == "R7" }, 1795},
		"an order that arrived when its master was dead": {"m2", func(e *history.Event) bool { return e.Kind == history.KindOrder && e.Room == "R7" }, 1708},
		"a master's release": {"m2", func(e *history.Event) bool {
			return e.Hold == "h7" && (e.Kind == history.KindRelease || e.Kind == history.KindReleasing)
		}, 1795},
	} {
		events := drop(c.gone)(soundRun())
		if s := soundnessOf(t, events); s.Code != result.Missing {
			t.Fatalf("%s: %+v", name, s)
		}
		events = append(events, killed(c.node, c.at, c.at+1), node(c.node, "started", 1797))
		events = append(events, fault("f9", "kill", c.at-1, 1800, history.Event{Nodes: []string{c.node}})...)
		if s := soundnessOf(t, events); s.State != result.OK {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestFaultsMustHitWhatTheyAreAimedAt: a holder, or a point of its work.
func TestFaultsMustHitWhatTheyAreAimedAt(t *testing.T) {
	paused, resumed := node("m1", "paused", 3004), node("m1", "resumed", 8004)
	paused.FromNS, resumed.FromNS = 3001*ms, 8000*ms
	stood := []history.Event{paused, resumed}
	point := func(name string, at int64) []history.Event {
		return []history.Event{{Kind: history.KindPoint, Node: "m1", State: name, AtNS: at * ms}}
	}
	kill := []history.Event{killed("m1", 3001, 3004), node("m1", "started", 7990)}
	holder := func(resource string) history.Aim {
		return history.Aim{At: history.AimHolder, Resource: resource, Node: "m1"}
	}
	granted, server := history.Aim{At: history.AimHolder, Node: "m1", Point: "granted"}, history.Aim{At: history.AimLeader, Node: "m1"}
	for name, c := range map[string]struct {
		kind   string
		aim    history.Aim
		events [][]history.Event
		proven bool
	}{
		"held throughout":                         {"pause", holder(""), [][]history.Event{held("m1", "x", 2990, 8001), stood}, true},
		"let go before it stood still":            {"pause", holder(""), [][]history.Event{held("m1", "x", 2990, 3002), stood}, false},
		"got it when it went on":                  {"pause", holder(""), [][]history.Event{held("m1", "x", 8001, 8009), stood}, false},
		"another one held":                        {"pause", holder(""), [][]history.Event{held("m2", "x", 2990, 8001), stood}, false},
		"killed while it held":                    {"kill", holder(""), [][]history.Event{held("m1", "x", 2990, 8001)[:1], kill}, true},
		"killed with its release under way":       {"kill", holder(""), [][]history.Event{held("m1", "x", 2990, 3003)[:2], kill}, false},
		"aimed at the holder of another resource": {"pause", holder("r2"), [][]history.Event{held("m1", "x", 2990, 8001), stood}, false},
		"aimed at the holder of its resource":     {"pause", holder("g"), [][]history.Event{held("m1", "x", 2990, 8001), stood}, true},
		"stopped at the point":                    {"pause", granted, [][]history.Event{point("granted", 3003), stood}, true},
		"stopped at another point":                {"pause", granted, [][]history.Event{point("releasing", 3003), held("m1", "x", 2990, 8001), stood}, false},
		"came to the point when it went on":       {"pause", granted, [][]history.Event{point("granted", 8005), held("m1", "x", 2990, 8001), stood}, false},
		"held when it was cut off":                {"partition", holder(""), [][]history.Event{held("m1", "x", 2990, 3600)}, true},
		"held before it was cut off":              {"partition", holder(""), [][]history.Event{held("m1", "x", 2000, 2900)}, false},
		"another one was cut off":                 {"partition", holder(""), [][]history.Event{held("m2", "x", 2990, 8001)}, false},
		"held when its power was cut":             {"power-loss", holder(""), [][]history.Event{held("m1", "x", 2990, 8001)[:1], kill}, true},
		"let go before its power was cut":         {"power-loss", holder(""), [][]history.Event{held("m1", "x", 2900, 2950), kill}, false},
		"held when its clock was set":             {"clock-step", holder(""), [][]history.Event{held("m1", "x", 2990, 3004)}, true},
		"let go before its clock was set":         {"clock-step", holder(""), [][]history.Event{held("m1", "x", 2900, 2950)}, false},
		"let go before its disk got slow":         {"slow-disk", holder(""), [][]history.Event{held("m1", "x", 2900, 2950)}, false},
		"let go before its disk was full":         {"full-disk", holder(""), [][]history.Event{held("m1", "x", 2900, 2950)}, false},
		"no leader was found":                     {"kill", history.Aim{At: history.AimLeader}, [][]history.Event{kill}, false},
		"a leader":                                {"kill", server, [][]history.Event{kill}, true},
		"aimed at a node by name":                 {"pause", history.Aim{}, [][]history.Event{stood}, true},
	} {
		e := history.Event{Nodes: []string{"m1"}}
		if c.kind == "partition" {
			e = history.Event{From: []string{"hc"}, To: []string{"ha"}} // between: [others, holder]
		}
		e.Aim = &c.aim
		run := history.Event{Kind: history.KindRun, Run: &history.Run{Lock: "raft", Workload: history.Mutex, DurationNS: 9000 * ms, NodeHosts: map[string]string{"m1": "ha", "m2": "hc"}}}
		events := slices.Concat([]history.Event{run, {Kind: history.KindPhase, State: "measure", AtNS: 1000 * ms}, {Kind: history.KindPhase, State: "drain", AtNS: 10_000 * ms}},
			slices.Concat(c.events...), fault("f1", c.kind, 3000, 8005, e))
		r, err := record.Of(events)
		if err != nil || r.Faults[0].Proven != c.proven {
			t.Errorf("%s: %v: faults %+v, want proven %v", name, err, r.Faults, c.proven)
		}
	}
}
