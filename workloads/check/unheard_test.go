package check_test

import (
	"fmt"
	"slices"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// TestADeadWaiterMayHaveTheLease: who waits when his process is ended cannot record it. Where a server may have
// granted him all that others want, a lock that is without a grant until the fault is over may go on.
func TestADeadWaiterMayHaveTheLease(t *testing.T) {
	ended := fault("f1", "zone-failure", 3000, 6000, func(e *history.Event) { e.Nodes = []string{"m2"} })
	dies, alive := node("m2", "started", 10), []history.Event{node("m1", "started", 10)}
	before := func(node, hold string) []history.Event { return gotten(node, hold, 2500, 2510, 2520) }
	after := gotten("m1", "h1", 3030, 3040, 3050)
	at := func(resource string, events []history.Event) []history.Event {
		events = slices.Clone(events)
		for i := range events {
			events[i].Resource = resource
		}
		return events
	}
	var waits, back []history.Event // of those who are not cut off
	for from := int64(3060); from < 6000; from += 400 {
		waits = append(waits, asks("x", "m1", "timeout", from, from+390, 390)...)
	}
	for from := int64(6010); from < 10_000; from += 20 {
		back = append(back, gotten("m1", fmt.Sprint("k", from), from, from+2, from+4)...)
	}
	request := func(node string, until int64) history.Event {
		return history.Event{Kind: history.KindMatch, Node: node, Client: "p9", Resource: "x", FromNS: 2990 * ms, SentNS: 2990 * ms, AtNS: until * ms, Outcome: "unknown", Error: "unknown"}
	}
	for _, c := range []struct {
		name     string
		workload string
		lease    int64
		events   [][]history.Event
		status   check.Status
	}{
		{"asked for it before", history.Mutex, 3000, [][]history.Event{{killed("m2", 3000, 3010)}, before("m2", "h0"), after}, check.Expected},
		{"never asked for it", history.Mutex, 3000, [][]history.Event{{killed("m2", 3000, 3010)}, before("m1", "h0"), after}, check.Violated},
		{"no lease", history.Mutex, 0, [][]history.Event{{killed("m2", 3000, 3010)}, before("m2", "h0"), after}, check.Violated},
		{"ended in order", history.Mutex, 3000, [][]history.Event{{node("m2", "stopped", 3010)}, before("m2", "h0"), after}, check.Violated},
		{"long after the lock stood still", history.Mutex, 3000, [][]history.Event{{killed("m2", 5000, 5010)}, before("m2", "h0"), after}, check.Violated},
		{"one client, and two are wanted", history.Mutex, 3000, [][]history.Event{{killed("m2", 3000, 3010)}, before("m2", "h0"), at("y", gotten("m2", "h2", 2600, 2610, 2620)), after, at("y", waits)}, check.Violated},
		{"a request was under way", history.Matchmaking, 3000, [][]history.Event{{killed("m2", 3000, 3010), request("m2", 5000)}, before("m2", "h0"), after}, check.Expected},
		{"a request was over", history.Matchmaking, 3000, [][]history.Event{{killed("m2", 3000, 3010), request("m2", 2995)}, before("m2", "h0"), after}, check.Violated},
		{"a request at another", history.Matchmaking, 3000, [][]history.Event{{killed("m2", 3000, 3010), request("m1", 5000)}, before("m2", "h0"), after}, check.Violated},
	} {
		run := leasedRun(c.lease)
		run.Run.Workload = c.workload
		events := slices.Concat([]history.Event{run, dies}, alive, ended, phases(1000, 10_000, 10_100), waits, back, slices.Concat(c.events...))
		if c.workload == history.Matchmaking {
			events = append(events, players(1000, 10_000, 0, 0)...)
		}
		f := checktest.Events(events, options)
		want := history.Expect{Liveness: []string{check.Live, check.Stalls}, Availability: history.Availability{During: 0.99}}
		if c.workload == history.Matchmaking { // players find seats without the lock
			want.Availability.During = 0
		}
		if v := check.Judge(f, want); v.Status != c.status || f.Liveness != check.Down {
			t.Errorf("%s: %s, %s: %s; want %s", c.name, v.Status, f.Liveness, v.Why, c.status)
		}
	}
}
