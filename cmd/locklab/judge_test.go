package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/workloads/history"
)

// at is a time of a history, in milliseconds, as events have it.
func at(ms int64) int64 { return ms * int64(time.Millisecond) }

// checked is what locklab check says of a run of some seconds: the masters m1 and m2 on the hosts
// h1 and h2, the workers w1 and w2 on h3 and h4, with h1 alone in zone a.
func checked(t *testing.T, run history.Run, events ...history.Event) (code int, said string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	end := at(10_000)
	run.Schema, run.Lock, run.Scenario, run.Workload = history.Schema, "mine", "mine", cmp.Or(run.Workload, history.Mutex)
	run.DurationNS = end
	run.NodeHosts = map[string]string{"m1": "h1", "m2": "h2", "w1": "h3", "w2": "h4"}
	run.HostZones = map[string]string{"h1": "a", "h2": "b", "h3": "b", "h4": "b"}
	if run.Expect == nil {
		run.Expect = &history.Expect{Safety: "safe"}
	}
	w.Record(history.Event{Kind: history.KindRun, AtNS: 1, Run: &run})
	for node, host := range run.NodeHosts {
		w.Record(history.Event{Kind: history.KindNode, Node: node, Host: host, State: history.NodeStarted, AtNS: 1})
		w.Record(history.Event{Kind: history.KindNode, Node: node, Host: host, State: history.NodeStopped, FromNS: end + at(50), AtNS: end + at(60)})
	}
	w.Record(history.Event{Kind: history.KindMachine, FromNS: 1, AtNS: end, Machine: &history.Machine{CPUs: 2}})
	for state, ns := range map[string]int64{"warmup": 1, "measure": 2, "drain": end + 2, "end": end + at(70)} {
		w.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: ns})
	}
	for _, e := range events {
		w.Record(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return call(t, "check", path)
}

// hold is one whole hold of r by a client of the node, in milliseconds.
func hold(node, id string, asked, from, to int64, token uint64) []history.Event {
	e := history.Event{Kind: history.KindAcquire, Node: node, Client: node + "/" + id, Hold: id, Resource: "r", FromNS: at(asked), SentNS: at(asked), AtNS: at(from), Outcome: "ok", Token: token}
	released := history.Event{Kind: history.KindRelease, Node: node, Client: e.Client, Hold: id, Resource: "r", FromNS: at(to), AtNS: at(to + 1), Outcome: "ok", Token: token}
	return []history.Event{e, released}
}

// TestTokensThatGoBackAreSeenWhereClientsQueue: a lock that excludes, and numbers its claims when they are
// asked for, grants the last one first.
func TestTokensThatGoBackAreSeenWhereClientsQueue(t *testing.T) {
	for name, last := range map[string]bool{"in the order of the tokens": false, "the last one first": true} {
		var events []history.Event
		for round := range int64(100) {
			for n := range int64(4) {
				turn := n
				if last {
					turn = 3 - n
				}
				from := 100*round + 20 + 20*turn
				id := fmt.Sprint(round, "-", n)
				events = append(events, hold([]string{"m1", "m2"}[n%2], id, 100*round+n+1, from, from+15, uint64(4*round+n+1))...) //nolint:gosec // small
			}
		}
		code, said := checked(t, history.Run{}, events...)
		if want := map[bool]int{false: 0, true: exitViolated}[last]; code != want || strings.Contains(said, "violated") != last {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, want, said)
		}
	}
}

// faultOf is a fault of the ledger that was in force from one time to another, in milliseconds.
func faultOf(kind string, from, to int64, e history.Event) (ledger []history.Event) {
	e.Kind, e.ID, e.Fault, e.Target = history.KindFault, kind, kind, "mine"
	for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
		e.State, e.AtNS = state, at([]int64{from, from + 5, to, to + 10}[i])
		ledger = append(ledger, e)
	}
	return ledger
}

// room is a room of g that the master ordered under its hold of that time, and that nobody filled.
func room(id, master, worker string, order, starts, answered int64, unreachable ...string) []history.Event {
	held := hold(master, "hold-"+id, order-10, order-5, answered+1, 0)
	held[0].Resource, held[1].Resource = "g", "g"
	ordered := history.Event{Kind: history.KindOrder, Order: "order-" + id, FromNS: at(order), SentNS: at(order + 1), AtNS: at(answered), Node: master, Hold: "hold-" + id, Worker: worker, Room: id, Resource: "g", Outcome: "ok", Unreachable: unreachable}
	return append(append(held, ordered), begun(id, master, worker, starts)...)
}

// begun is what the worker records of a room that it began.
func begun(id, master, worker string, starts int64) []history.Event {
	e := history.Event{Kind: history.KindRoom, State: "starting", AtNS: at(starts), Node: worker, Client: master, Room: id, Order: "order-" + id, Resource: "g"}
	open, full, closed := e, e, e
	open.State, open.AtNS = "open", at(starts+97)
	full.State, full.AtNS = "full", at(9900)
	closed.State, closed.AtNS = "closed", at(9950)
	return []history.Event{e, open, full, closed}
}

// seated are players who got a seat in the room.
func seated(id, master, worker string, from int64) (players []history.Event) {
	for n := range int64(4) {
		players = append(players, history.Event{Kind: history.KindMatch, Client: fmt.Sprintf("p%d", n), FromNS: at(from + n), SentNS: at(from + n), AtNS: at(from + 5), Node: master, Resource: "g", Room: id, Worker: worker, Outcome: "ok"})
	}
	return players
}

// TestAnOrderOfAKilledMasterThatArrivesLate is not held against the lock, whichever room is the second: its
// master was killed 2 s before, under a partition. Who overlooks such a room has none to blame.
func TestAnOrderOfAKilledMasterThatArrivesLate(t *testing.T) {
	for name, c := range map[string]struct {
		late, other int64 // when the two rooms begin
		code        int
	}{
		"the late room is the second":     {3003, 3001, 0},
		"the late room is the first":      {3001, 3003, 0},
		"the late room was there to find": {2500, 3003, exitViolated},
	} {
		begins := begun("R1", "m1", "w1", c.late)
		events := slices.Concat(
			faultOf("partition", 900, 3000, history.Event{From: []string{"h1"}, To: []string{"h3"}}),
			faultOf("kill", 1000, 5000, history.Event{Nodes: []string{"m1"}}),
			[]history.Event{
				{Kind: history.KindAcquire, Node: "m1", Client: "p9", Hold: "lost", Resource: "g", FromNS: at(940), SentNS: at(940), AtNS: at(945), Outcome: "ok"},
				{Kind: history.KindNode, Node: "m1", Host: "h1", State: history.NodeKilled, FromNS: at(1000), AtNS: at(1001)},
				{Kind: history.KindNode, Node: "m1", Host: "h1", State: history.NodeStarted, AtNS: at(5005)},
			},
			begins, room("R2", "m2", "w2", 2990, c.other, 3008), seated("R2", "m2", "w2", 3200),
		)
		if code, said := checked(t, history.Run{Workload: history.Matchmaking, OfferedPS: 1, LeaseNS: at(1000)}, events...); code != c.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, said)
		}
	}
}

// TestOnlyWhatCanCutExcuses: a master orders a room although the other worker, which it could not
// reach, has a free one.
func TestOnlyWhatCanCutExcuses(t *testing.T) {
	worker := history.Event{Nodes: []string{"w1"}}
	paused := func(state string, ms int64) history.Event {
		return history.Event{Kind: history.KindNode, Node: "w1", Host: "h3", State: state, FromNS: at(ms), AtNS: at(ms + 1)}
	}
	for name, c := range map[string]struct {
		broken []history.Event
		code   int
	}{
		"nothing is broken":       {nil, exitViolated},
		"its clock is wrong":      {faultOf("clock-step", 1000, 5000, worker), exitViolated},
		"its clock drifts":        {faultOf("clock-drift", 1000, 5000, worker), exitViolated},
		"its disk is slow":        {faultOf("slow-disk", 1000, 5000, worker), exitViolated},
		"its disk is full":        {faultOf("full-disk", 1000, 5000, worker), exitViolated},
		"another host is cut off": {faultOf("partition", 1000, 5000, history.Event{From: []string{"h1"}, To: []string{"h3"}}), exitViolated},
		"the link to it is cut":   {faultOf("partition", 1000, 5000, history.Event{From: []string{"h2"}, To: []string{"h3"}}), 0},
		"the worker is stopped":   {append(faultOf("pause", 1000, 5000, worker), paused(history.NodePaused, 1001), paused(history.NodeResumed, 5001)), 0},
	} {
		events := slices.Concat(c.broken, room("R1", "m2", "w1", 500, 510, 515), room("R2", "m2", "w2", 2000, 2010, 2015, "w1"), seated("R2", "m2", "w2", 3200))
		if code, said := checked(t, history.Run{Workload: history.Matchmaking, OfferedPS: 1}, events...); code != c.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, said)
		}
	}
}

// turns are holds of r, one after the other, by clients of m1 and m2 in turn: each for so many ms, with a
// pause until the next.
func turns(from, to, length, pause int64) (events []history.Event) {
	for n := int64(0); from < to; n++ {
		events = append(events, hold([]string{"m1", "m2"}[n%2], fmt.Sprint("turn-", from), from-20, from, from+length, 0)...)
		from += length + pause
	}
	return events
}

// refused are requests for r by a client of the node, one after the other, each given up after so many ms.
func refused(node, kind string, after, from, to int64) (events []history.Event) {
	for ; from < to; from += after + 10 {
		events = append(events, history.Event{Kind: history.KindAcquire, Node: node, Client: node + "/w", Resource: "r", FromNS: at(from), SentNS: at(from), AtNS: at(from + after), Outcome: "failed", Error: kind})
	}
	return events
}

// TestALockThatDoesNotComeBackIsViolated: whatever the scenario allows, whatever was broken, and whoever's lock
// it is. What the fault, a lease, or a holder alive explains is none of that.
func TestALockThatDoesNotComeBackIsViolated(t *testing.T) {
	anything := &history.Expect{Safety: "safe", Liveness: []string{"live", "stalls", "down"}}
	kill := slices.Concat(faultOf("kill", 3000, 5000, history.Event{Nodes: []string{"m1"}}), []history.Event{
		{Kind: history.KindNode, Node: "m1", Host: "h1", State: history.NodeKilled, FromNS: at(3000), AtNS: at(3001)},
		{Kind: history.KindNode, Node: "m1", Host: "h1", State: history.NodeStarted, AtNS: at(5004)},
	})
	flap := faultOf("flap", 3000, 5000, history.Event{From: []string{"h1"}, To: []string{"h2"}})
	before, never := turns(100, 2900, 50, 10), refused("m2", "timeout", 500, 3000, 9990)
	for name, c := range map[string]struct {
		run    history.Run
		events [][]history.Event
		code   int
	}{
		"its holder was killed":                  {history.Run{}, [][]history.Event{kill, before, never}, exitViolated},
		"a program's holder was killed":          {history.Run{Program: &history.Program{Servers: []string{"w1"}}}, [][]history.Event{kill, before, never}, exitViolated},
		"links came and went":                    {history.Run{}, [][]history.Event{flap, before, never}, exitViolated},
		"a program uses none of them":            {history.Run{Program: &history.Program{}}, [][]history.Event{flap, before, never}, exitViolated},
		"after a lease":                          {history.Run{LeaseNS: at(2500)}, [][]history.Event{kill, before, never}, exitViolated},
		"nothing is broken":                      {history.Run{}, [][]history.Event{refused("m2", "timeout", 500, 100, 9990)}, exitViolated},
		"nothing is expected of it":              {history.Run{Expect: &history.Expect{}}, [][]history.Event{kill, before, never}, exitViolated},
		"it came back after the heal":            {history.Run{}, [][]history.Event{kill, before, refused("m2", "timeout", 500, 3000, 5900), turns(6400, 9900, 50, 10)}, 0},
		"it came back when the lease was over":   {history.Run{LeaseNS: at(3000)}, [][]history.Event{kill, before, refused("m2", "timeout", 500, 3000, 8400), turns(8450, 9900, 50, 10)}, 0},
		"a client alive held it to the end":      {history.Run{}, [][]history.Event{kill, before, hold("m2", "long", 5000, 5500, 10_000, 0), refused("m2", "timeout", 500, 5500, 9990)}, 0},
		"it was not wanted any more":             {history.Run{}, [][]history.Event{kill, before, refused("m2", "timeout", 500, 3000, 4900)}, 0},
		"the measured part ended too soon after": {history.Run{LeaseNS: at(4000)}, [][]history.Event{kill, before, never}, 0},
	} {
		if c.run.Expect == nil {
			c.run.Expect = anything
		}
		code, said := checked(t, c.run, slices.Concat(c.events...)...)
		if code != c.code || strings.Contains(said, "dead") != (code == exitViolated) {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, said)
		}
	}
}

// TestWaitingInLineIsNoFailure: requests that were given up while others held the resource in turn say nothing
// against the lock. Those that it refuses at once, or while it is mostly free, and those of a master that it never
// serves, fail.
func TestWaitingInLineIsNoFailure(t *testing.T) {
	served := &history.Expect{Safety: "safe", Availability: history.Availability{Outside: 0.99}}
	for name, c := range map[string]struct {
		refused, others []history.Event
		code            int
	}{
		"while others held it in turn":   {refused("m2", "timeout", 1500, 50, 9900), turns(100, 9400, 500, 250), 0},
		"refused while others held it":   {refused("m2", "not-acquired", 1500, 50, 9900), turns(100, 9400, 500, 250), 0},
		"refused at once":                {refused("m2", "not-acquired", 5, 50, 9900), turns(100, 9400, 500, 250), exitViolated},
		"the lock was not available":     {refused("m2", "unavailable", 1500, 50, 9900), turns(100, 9400, 500, 250), exitViolated},
		"it was free for most of a time": {refused("m2", "timeout", 1500, 50, 9900), turns(100, 9400, 500, 900), exitViolated},
		"of a master that is not served": {refused("w1", "timeout", 1500, 50, 9900), turns(100, 9400, 500, 250), exitViolated},
	} {
		for _, program := range []*history.Program{nil, {}} { // the same for locks of the lab and of others
			code, said := checked(t, history.Run{Expect: served, Program: program}, slices.Concat(c.others, c.refused)...)
			if code != c.code {
				t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, said)
			}
		}
	}
}
