package main

import (
	"cmp"
	"fmt"
	"path/filepath"
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
