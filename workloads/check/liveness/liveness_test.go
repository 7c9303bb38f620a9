package liveness_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/check/liveness"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

const ms = int64(1e6)

// judge judges events of a run of 10 s with two zones, a and c, each with a master of that name;
// the measured part begins after a second.
func judge(t interface{ Fatal(args ...any) }, head history.Run, lists ...[]history.Event) liveness.Findings {
	head.Schema, head.Lock, head.DurationNS, head.OfferedPS = history.Schema, "raft", 9000*ms, 1
	if head.Workload == "" {
		head.Workload = history.Mutex
	}
	head.NodeHosts, head.HostZones = map[string]string{"a": "ha", "c": "hc"}, map[string]string{"ha": "a", "hc": "c"}
	events := []history.Event{{Kind: history.KindRun, Run: &head}}
	for i, state := range []string{"warmup", "measure", "drain", "end"} {
		events = append(events, history.Event{Kind: history.KindPhase, State: state, AtNS: []int64{0, 1000, 10_000, 10_100}[i] * ms})
	}
	r, err := record.Of(slices.Concat(events, slices.Concat(lists...)))
	if err != nil {
		t.Fatal(err)
	}
	return liveness.Judge(r)
}

// canaries are granted every 100 ms in a zone, but for between from and to.
func canaries(zone string, from, to int64) (events []history.Event) {
	for at := int64(50); at <= 10_050; at += 100 {
		if at <= from || at >= to {
			events = append(events, got("canary-"+zone, zone, at-5, at, at+1)...)
		} else {
			events = append(events, ask("canary-"+zone, zone, "timeout", at-5, at+995))
		}
	}
	return events
}

func got(resource, node string, from, at, until int64) []history.Event {
	hold := fmt.Sprint(resource, node, at)
	return []history.Event{
		{Kind: history.KindAcquire, Node: node, Resource: resource, Hold: hold, FromNS: from * ms, AtNS: at * ms, Outcome: "ok"},
		{Kind: history.KindReleasing, Node: node, Resource: resource, Hold: hold, AtNS: until * ms},
	}
}

// ask is an acquisition that ends with an error.
func ask(resource, node, kind string, from, at int64) history.Event {
	return history.Event{Kind: history.KindAcquire, Node: node, Resource: resource, FromNS: from * ms, AtNS: at * ms, Outcome: "failed", Error: kind}
}

// asks are those of a for x, one after the other.
func asks(from, to, each int64) (events []history.Event) {
	for at := from; at < to; at += each {
		events = append(events, ask("x", "a", "timeout", at, at+each))
	}
	return events
}

func node(name, state string, at int64) history.Event {
	return history.Event{Kind: history.KindNode, Node: name, State: state, AtNS: at * ms}
}

// fault is an entry of the ledger; times that are 0 did not come.
func fault(id string, began, heal, ended int64) (events []history.Event) {
	for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
		if at := []int64{began, began, heal, ended}[i]; at > 0 {
			events = append(events, history.Event{Kind: history.KindFault, ID: id, Fault: "partition", State: state, AtNS: at * ms})
		}
	}
	return events
}

func TestWords(t *testing.T) {
	list := slices.Concat[[]history.Event]
	one := func(e ...history.Event) []history.Event { return e }
	cut := fault("f", 3000, 7000, 7010)
	well := list(canaries("a", 0, 0), canaries("c", 0, 0))
	gone := func(from, to int64) []history.Event { return list(canaries("a", from, to), canaries("c", from, to)) }
	for _, c := range []struct {
		name     string
		leaseMS  int64
		events   []history.Event
		word, of string
		n        int64 // ms of the outage that decides the word
		recovery int64 // ms, -1: nothing was healed
	}{
		{"nothing was asked", 0, cut, result.NotJudged, "", 0, 0},
		{"no fault", 0, well, result.Live, "", 0, -1},
		{"no fault, and an outage", 0, gone(3050, 4850), result.Dead, "", 1800, -1},
		{"no fault, and an outage of less than a second", 0, gone(3050, 3950), result.Live, "", 0, -1},
		{"a fault that nothing notices", 0, list(well, cut), result.Live, "", 0, 50},
		{"down until after the heal", 0, list(gone(3050, 7350), cut), result.Down, "", 4300, 350},
		{"down for half of the fault", 0, list(gone(4950, 7050), cut), result.Down, "", 2100, 50},
		{"for less than half of it", 0, list(gone(5050, 7050), cut), result.Stalls, "", 2000, 50},
		{"ended before the heal", 0, list(gone(3050, 6850), cut), result.Stalls, "", 3800, 50},
		{"a fault of less than 1.5 s cannot show it", 0, list(gone(3050, 5050), fault("f", 3000, 4400, 4400)), result.Stalls, "", 2000, 650},
		{"one of 1.5 s can", 0, list(gone(3050, 5050), fault("f", 3000, 4500, 4500)), result.Down, "", 2000, 550},
		{"not back 1.5 s after the end, for a second", 0, list(gone(3050, 9650), cut), result.Dead, "", 6600, 2650},
		{"not back 1.5 s after the end, for less than that", 0, list(gone(3050, 9350), cut), result.Down, "", 6300, 2350},
		{"which a lease explains", 3000, list(gone(3050, 9650), cut), result.Down, "", 6600, 2650},
		{"before the fault", 0, list(gone(1850, 3050), fault("f", 3000, 7000, 7010)), result.Dead, "", 1200, 50},
		{"long after it", 0, list(gone(8550, 9950), fault("f", 3000, 4000, 4000)), result.Dead, "", 1400, 50},
		{"never back", 0, list(gone(3050, 20_000), cut), result.Dead, "", 6950, 3000},
		{"the fault was never healed", 0, list(gone(3050, 20_000), fault("f", 3000, 0, 0)), result.Down, "", 6950, -1},
		{"a restart heals itself, and lasts until its processes are ready", 0, list(gone(3050, 7050), fault("f", 3000, 3000, 7000)), result.Down, "", 4000, 50},
		{"faults that overlap are one", 0, list(gone(3050, 7050), fault("f", 3000, 5000, 5000), fault("g", 4800, 7000, 7000)), result.Down, "", 4000, 50},
		{"the first of two is not to blame for the second", 0, list(gone(5550, 7050), fault("f", 3000, 4500, 4500), fault("g", 5500, 7000, 7000)), result.Down, "", 1500, 50},
		{"a zone without the lock is told", 0, list(canaries("a", 0, 0), canaries("c", 3050, 7350), cut), result.Live, "", 0, 350},
		{"a dead zone is judged", 0, list(canaries("a", 0, 0), canaries("c", 3050, 9850), cut), result.Dead, "zone c", 6800, 2850},
		{"a resource", 0, list(well, cut, asks(3200, 7200, 500), got("x", "a", 7190, 7195, 7196)), result.Down, "x", 3995, 195},
		{"a resource, for no longer than its lease and a second", 3000, list(well, cut, asks(3200, 7200, 500), got("x", "a", 7190, 7195, 7196)), result.Live, "", 0, 195},
		{"a resource that another client holds", 0, list(well, cut, asks(3200, 7200, 500), got("x", "c", 3100, 3150, 7100)), result.Live, "", 0, 50},
		{"a resource whose holder stands still", 0, list(well, cut, asks(3200, 7000, 500), got("x", "c", 3100, 3150, 7100), one(node("c", "paused", 3300), node("c", "resumed", 6800))), result.Stalls, "x", 3500, 50},
		{"a resource whose holder was killed", 0, list(well, cut, asks(3200, 7100, 500), got("x", "c", 3100, 3150, 9000)[:1], one(node("c", "killed", 3300))), result.Down, "x", 3900, 200},
		{"a client that is dead waits for nothing", 0, list(well, cut, one(ask("x", "a", "unknown", 3100, 7100), node("a", "killed", 3200), node("a", "started", 6900))), result.Live, "", 0, 100},
		{"refused now and then, and wanted in between", 0, list(well, cut, one(ask("x", "a", "unavailable", 3100, 3101), ask("x", "a", "unavailable", 4000, 4001), ask("x", "c", "unavailable", 4900, 4901))), result.Stalls, "x", 1801, 50},
		{"refused now and then, while others wait for less", 0, list(well, cut, one(ask("x", "a", "unavailable", 3100, 3500), ask("x", "c", "unavailable", 3200, 3201), ask("x", "a", "unavailable", 4300, 4301))), result.Stalls, "x", 1201, 50},
		{"refused, and not wanted again for a second", 0, list(well, cut, one(ask("x", "a", "unavailable", 3100, 3101), ask("x", "a", "unavailable", 4200, 4201))), result.Live, "", 0, 50},
		{"called off, and not wanted any more", 0, list(well, cut, one(ask("x", "a", "canceled", 3100, 3101), ask("x", "a", "canceled", 4000, 4001), ask("x", "a", "canceled", 4900, 4901))), result.Live, "", 0, 50},
		{"without canaries no outage of the lock is known", 0, list(cut, got("y", "c", 2000, 2001, 2002), got("y", "c", 6990, 7100, 7101)), result.Live, "", 0, 100},
	} {
		f := judge(t, history.Run{LeaseNS: c.leaseMS * ms}, c.events)
		of, n := f.Statement.Of, int64(f.Statement.N)
		if f.Word != c.word || of != c.of || n != c.n {
			t.Errorf("%s: %s, %d ms of %q; want %s, %d ms of %q", c.name, f.Word, n, of, c.word, c.n, c.of)
		}
		recovery := f.RecoveryNS / ms
		if !f.Healed {
			recovery = -1
		}
		if recovery != c.recovery {
			t.Errorf("%s: recovery %d ms, want %d ms", c.name, recovery, c.recovery)
		}
		if c.n > 0 && (f.Outages[0].Of != c.of || f.Outages[0].Len()/ms != c.n) {
			t.Errorf("%s: the word comes from %+v", c.name, f.Outages)
		}
	}
}

// TestOutagesOfZones: the time in which no master of a zone runs is none of its outage.
func TestOutagesOfZones(t *testing.T) {
	f := judge(t, history.Run{}, canaries("a", 0, 0), canaries("c", 2050, 6050), []history.Event{node("c", "killed", 3000), node("c", "started", 5500)})
	if f.Zone.Of != "zone c" || f.Zone.Len() != 950*ms || f.Lock.Len() != 100*ms || f.Word != result.Live || len(f.Outages) != 3 {
		t.Errorf("%+v", f)
	}
}

// TestASecondFollowsTheRoundTrip: ten round trips between the most distant hosts, if that is more.
func TestASecondFollowsTheRoundTrip(t *testing.T) {
	for second, want := range map[int64]string{1400: result.Dead, 1600: result.Live} {
		if f := judge(t, history.Run{SecondNS: second * ms}, canaries("a", 3050, 4550)); f.Word != want {
			t.Errorf("a second of %d ms: %s, want %s", second, f.Word, want)
		}
	}
}

func TestShares(t *testing.T) {
	match := func(from int64, outcome, kind string, count uint64) history.Event {
		return history.Event{Kind: history.KindMatch, Node: "a", FromNS: from * ms, AtNS: (from + 1) * ms, Outcome: outcome, Error: kind, Count: count}
	}
	events := slices.Concat(fault("f", 3000, 7000, 7000), asks(6000, 6200, 100), got("x", "a", 8000, 8001, 8002), canaries("a", 0, 0), []history.Event{
		match(999, "failed", "", 0), match(1000, "ok", "", 0), match(2999, "ok", "", 0), match(3000, "failed", "", 0), match(6999, "ok", "", 0),
		match(7000, "ok", "", 0), match(8000, "failed", "canceled", 0), match(9000, "failed", "", 4), match(10_000, "failed", "", 0),
	})
	acquired, inFault := liveness.Share{OK: 1, Due: 3}, liveness.Share{OK: 0, Due: 2}
	f := judge(t, history.Run{Workload: history.Matchmaking, Seats: 8}, events)
	want := [3]liveness.Share{{OK: 4, Due: 9}, {OK: 1, Due: 2}, acquired}
	if got := [3]liveness.Share{f.Served, f.ServedInFault, f.Acquired}; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	f = judge(t, history.Run{}, events)
	if f.Served != acquired || f.ServedInFault != inFault {
		t.Errorf("of a raw workload %+v, %+v", f.Served, f.ServedInFault)
	}
}

// TestOutagesNaively looks at each millisecond.
func TestOutagesNaively(t *testing.T) {
	type request struct{ from, at, until, master, outcome int }
	rapid.Check(t, func(t *rapid.T) {
		awayFrom := rapid.IntRange(1000, 1040).Draw(t, "away from")
		awayTo := awayFrom + rapid.IntRange(0, 20).Draw(t, "away for")
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) request {
			r := request{from: rapid.IntRange(990, 1080).Draw(t, "from"), master: rapid.IntRange(0, 1).Draw(t, "master"), outcome: rapid.IntRange(0, 2).Draw(t, "outcome")}
			if rapid.Bool().Draw(t, "much later") {
				r.from += 1000
			}
			r.at = r.from + rapid.IntRange(0, 20).Draw(t, "wait")
			r.until = r.at + rapid.IntRange(0, 20).Draw(t, "hold")
			return r
		}), 1, 10).Draw(t, "requests")
		var events []history.Event
		wanted, held, granted := [4000]bool{}, [4000]bool{}, [4000]bool{}
		runs := func(master, at int) bool { return master == 1 || at < awayFrom || at >= awayTo }
		for i, r := range requests {
			e := history.Event{Kind: history.KindAcquire, Node: []string{"a", "c"}[r.master], Resource: "x", FromNS: int64(r.from) * ms, AtNS: int64(r.at) * ms, Outcome: "failed"}
			until := r.at
			switch r.outcome {
			case 0:
				e.Outcome, e.Hold = "ok", fmt.Sprint("h", i)
				events = append(events, history.Event{Kind: history.KindReleasing, Node: e.Node, Resource: "x", Hold: e.Hold, AtNS: int64(r.until) * ms})
				granted[r.at] = true
				for at := r.at; at < r.until; at++ {
					held[at] = held[at] || runs(r.master, at)
				}
			case 1:
				e.Error = "canceled"
			case 2:
				next := 1 << 30
				for _, o := range requests {
					if o.from > r.at {
						next = min(next, o.from)
					}
				}
				if next-r.at < 1000 {
					until = next
				}
			}
			events = append(events, e)
			for at := r.from; at < until; at++ {
				wanted[at] = wanted[at] || runs(r.master, at)
			}
		}
		longest, lasts := 0, 0
		for at := 1000; at < 4000; at++ {
			if granted[at] {
				lasts = 0
			}
			if lasts++; !wanted[at] || held[at] {
				lasts = 0
			}
			longest = max(longest, lasts)
		}
		if awayFrom < awayTo {
			events = append(events, node("a", "paused", int64(awayFrom)), node("a", "resumed", int64(awayTo)))
		}
		f := judge(t, history.Run{}, rapid.Permutation(events).Draw(t, "file order"))
		if f.Resource.Len() != int64(longest)*ms {
			t.Fatalf("%d ms, naively %d: %+v", f.Resource.Len()/ms, longest, requests)
		}
	})
}

// TestWantsOfMastersThatAreCutOff say nothing of a resource: its zone has the outage.
func TestWantsOfMastersThatAreCutOff(t *testing.T) {
	cut := fault("zone-partition", 3000, 6000, 6100)
	for name, tt := range map[string]struct {
		canaries []history.Event
		want     string
	}{
		"its canary is not granted": {canaries("a", 3000, 6000), result.Live},
		"its canary is granted":     {canaries("a", 0, 0), result.Down},
	} {
		f := judge(t, history.Run{}, tt.canaries, canaries("c", 0, 0), cut, asks(3000, 6000, 500))
		if f.Word != tt.want {
			t.Errorf("%s: %s, want %s: %+v", name, f.Word, tt.want, f.Outages)
		}
	}
}
