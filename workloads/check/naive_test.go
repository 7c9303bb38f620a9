package check_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/internal/seed"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// judged judges events of a run with a master and a worker on each of two hosts, of which a part is
// measured. Times here are milliseconds.
func judged(t interface{ Fatal(args ...any) }, workload string, measure, drain int64, lists ...[]history.Event) result.Row {
	events := []history.Event{{Kind: history.KindRun, Run: &history.Run{
		Schema: history.Schema, Lock: "raft", Workload: workload, DurationNS: (drain - measure) * millisecond, OfferedPS: 1,
		NodeHosts: map[string]string{"m1": "ha", "w1": "ha", "m2": "hc", "w2": "hc"}, HostZones: map[string]string{"ha": "a", "hc": "c"},
	}}}
	for i, state := range []string{"warmup", "measure", "drain", "end"} {
		events = append(events, history.Event{Kind: history.KindPhase, State: state, AtNS: []int64{0, measure, drain, drain}[i] * millisecond})
	}
	r, err := record.Of(slices.Concat(events, slices.Concat(lists...)))
	if err != nil {
		t.Fatal(err)
	}
	return check.Judge(r)
}

func acquire(node, resource, hold string, from, at int64, token uint64) history.Event {
	return history.Event{
		Kind: history.KindAcquire, Node: node, Client: node + "/c", Hold: hold, Resource: resource,
		FromNS: from * millisecond, AtNS: at * millisecond, Outcome: "ok", Token: token,
	}
}

// ended is the end of a hold, of one kind.
func ended(kind history.Kind, of history.Event, at int64) history.Event {
	return history.Event{Kind: kind, Node: of.Node, Hold: of.Hold, Resource: of.Resource, FromNS: at * millisecond, AtNS: at * millisecond, Outcome: "ok"}
}

func node(name, state string, at int64) history.Event {
	return history.Event{Kind: history.KindNode, Node: name, State: state, AtNS: at * millisecond}
}

func within(errMS int64, events ...history.Event) []history.Event {
	for i := range events {
		events[i].ErrNS = errMS * millisecond
	}
	return events
}

func count(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// differ says where figures are not what they are naively.
func differ(row *result.Row, naively map[string]float64) string {
	for name, want := range naively {
		if got := row.Figures[name]; got != want {
			return fmt.Sprintf("%s is %v, naively %v", name, got, want)
		}
	}
	return ""
}

// TestHoldsNaively compares every pair of holds.
func TestHoldsNaively(t *testing.T) {
	type hold struct{ resource, from, to, err, token int }
	rapid.Check(t, func(t *rapid.T) {
		exact := rapid.Bool().Draw(t, "exact clocks")
		holds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hold {
			h := hold{resource: rapid.IntRange(0, 2).Draw(t, "resource"), from: rapid.IntRange(9, 70).Draw(t, "from"), token: rapid.IntRange(0, 9).Draw(t, "token")}
			if !exact {
				h.err = rapid.IntRange(0, 3).Draw(t, "err")
			}
			h.to = h.from + rapid.IntRange(1, 12).Draw(t, "length")
			return h
		}), 0, 14).Draw(t, "holds")
		var events []history.Event
		naively := map[string]float64{}
		for i, h := range holds {
			e := acquire("m1", fmt.Sprint("r", h.resource), fmt.Sprint("h", i), int64(h.from-1), int64(h.from), uint64(h.token))
			events = append(events, within(int64(h.err), e, ended(history.KindRelease, e, int64(h.to)))...)
			later := func(o hold, n int) bool { // o is another hold of the resource that began later
				begins, other := h.from+h.err, o.from+o.err
				return o.resource == h.resource && cmp.Or(cmp.Compare(other, begins), cmp.Compare(h.to-h.err, o.to-o.err), cmp.Compare(n, i)) > 0
			}
			sure, maybe, after := false, false, false
			for n, o := range holds {
				sure = sure || later(o, n) && o.from+o.err < h.to-h.err && h.from+h.err < o.to-o.err
				maybe = maybe || later(o, n) && o.from < h.to && h.from < o.to
				after = after || o.resource == h.resource && h.token > 0 && o.token >= h.token && o.to+o.err <= h.from-h.err
			}
			naively["overlaps"] += count(sure)
			naively["tokens_back"] += count(after)
			naively["in_doubt"] += count(maybe && !sure)
		}
		row := judged(t, history.Mutex, 0, 1000, rapid.Permutation(events).Draw(t, "file order"))
		if diff := differ(&row, naively); diff != "" {
			t.Fatalf("%s: %+v", diff, holds)
		}
	})
}

// ordered is one room of group g with its order: the master looked at from, the worker began at start,
// the order was answered at answered.
type ordered struct {
	room, worker, master, hold        string
	from, start, answered, open, full int64
	unreachable                       []string
}

func (o ordered) events() (list []history.Event) {
	for i, state := range []string{"starting", "open", "full"} {
		if at := []int64{o.start, o.open, o.full}[i]; at > 0 {
			list = append(list, history.Event{
				Kind: history.KindRoom, AtNS: at * millisecond, Node: o.worker, Client: o.master, Room: o.room, Order: "o-" + o.room, Resource: "g", State: state,
			})
		}
	}
	return append(list, history.Event{
		Kind: history.KindOrder, FromNS: o.from * millisecond, AtNS: o.answered * millisecond, Node: o.master, Hold: o.hold,
		Order: "o-" + o.room, Worker: o.worker, Resource: "g", Outcome: "ok", Unreachable: o.unreachable,
	})
}

// TestDuplicatesNaively compares every pair of rooms.
func TestDuplicatesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cutFrom, cutTo := rapid.Int64Range(1, 60).Draw(t, "cut from"), rapid.Int64Range(61, 120).Draw(t, "cut to")
		var events []history.Event
		for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
			at := []int64{cutFrom, cutFrom + 5, cutTo - 5, cutTo}[i]
			events = append(events, history.Event{Kind: history.KindFault, ID: "f", Fault: "partition", State: state, AtNS: at * millisecond, From: []string{"ha"}, To: []string{"hc"}})
		}
		rooms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ordered {
			n := rapid.IntRange(1, 2)
			o := ordered{worker: fmt.Sprint("w", n.Draw(t, "worker")), master: fmt.Sprint("m", n.Draw(t, "master"))}
			o.from = rapid.Int64Range(1, 80).Draw(t, "from")
			if rapid.Bool().Draw(t, "much later") {
				o.from += 1000
			}
			o.start = o.from + rapid.Int64Range(0, 20).Draw(t, "start") + rapid.SampledFrom([]int64{0, 60}).Draw(t, "held")
			o.answered = o.from + rapid.Int64Range(0, 20).Draw(t, "answered")
			o.open = o.start + 1
			o.full = o.open + rapid.SampledFrom([]int64{0, 10, 40, 1000}).Draw(t, "fill")
			if rapid.Bool().Draw(t, "listed") {
				o.unreachable = []string{"w1", "w2"}[:n.Draw(t, "how many")]
			}
			return o
		}), 0, 12).Draw(t, "rooms")
		for i := range rooms {
			rooms[i].room = fmt.Sprintf("r%02d", i)
			events = append(events, rooms[i].events()...)
		}
		naively := map[string]float64{}
		for i, r := range rooms {
			free, counts := false, false
			for n, o := range rooms {
				earlier := cmp.Or(cmp.Compare(o.start, r.start), cmp.Compare(n, i)) < 0
				if !earlier || o.full <= r.start {
					continue
				}
				free = true
				atOnce := o.from < r.answered && r.from < o.answered
				after, before := r, o // by their orders
				if r.answered <= o.from {
					after, before = o, r
				}
				counts = counts || atOnce || !slices.Contains(after.unreachable, before.worker) || after.start < cutFrom || after.start > cutTo+1000
			}
			naively["duplicates"] += count(counts)
			naively["unreachable"] += count(free && !counts)
		}
		row := judged(t, history.Matchmaking, 0, 2000, events)
		if diff := differ(&row, naively); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestManyFreeRoomsStayFast has a group whose rooms never fill: to compare each with all others
// would take minutes.
func TestManyFreeRoomsStayFast(t *testing.T) {
	const rooms = 10_000
	var events []history.Event
	for i := range int64(rooms) {
		events = append(events, ordered{room: fmt.Sprint("r", i), worker: "w1", master: "m1", from: 10 * i, start: 10*i + 1, open: 10*i + 2, answered: 10*i + 3}.events()...)
	}
	row := judged(t, history.Matchmaking, 0, 1000, events)
	if row.Figures["duplicates"] != rooms-1 || len(row.Violations) != result.MaxViolations {
		t.Errorf("%v duplicates, %d are told", row.Figures["duplicates"], len(row.Violations))
	}
}

// TestWritesNaively compares with a store whose values are sets of updates.
func TestWritesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds, tokens := rapid.IntRange(1, 6).Draw(t, "holds"), rapid.Bool().Draw(t, "tokens")
		var events []history.Event
		for h := range holds {
			events = append(events, acquire("m1", "r", fmt.Sprint("h", h), 0, int64(h+1), uint64(h+1)))
		}
		did := func(kind history.Kind, state string, h int, at int64, base, version uint64) {
			events = append(events, history.Event{
				Kind: kind, State: state, Node: "w1", Client: "m1", Hold: fmt.Sprint("h", h), Resource: "r", AtNS: at * millisecond,
				Token: uint64(h+1) * uint64(count(tokens)), Base: base, Version: version,
			})
		}
		values, base := []map[uint64]bool{{}}, make([]uint64, holds) // values by version
		newest, naively := -1, map[string]float64{"stale_writes": 0, "fenced_writes": 0, "lost_updates": 0}
		for at := int64(100); at < 100+rapid.Int64Range(1, 20).Draw(t, "steps"); at++ {
			h := rapid.IntRange(0, holds-1).Draw(t, "hold")
			version := uint64(len(values) - 1)
			switch write := rapid.Bool().Draw(t, "write"); {
			case rapid.IntRange(0, 3).Draw(t, "unknown") == 0:
				if rapid.Bool().Draw(t, "applied") { // which update it overwrites is not known
					values = append(values, maps.Clone(values[version]))
				}
				did(history.KindWrite, history.WriteUnknown, h, at, base[h], base[h])
			case tokens && h < newest && write:
				naively["fenced_writes"]++
				did(history.KindWrite, history.WriteRefused, h, at, base[h], version)
			case tokens && h < newest:
			case write:
				naively["stale_writes"] += count(h < newest)
				next := map[uint64]bool{version + 1: true}
				maps.Copy(next, values[base[h]])
				values = append(values, next)
				did(history.KindWrite, history.WriteAccepted, h, at, base[h], version+1)
				newest = max(newest, h)
			default:
				base[h] = version
				did(history.KindRead, "", h, at, 0, version)
				newest = max(newest, h)
			}
		}
		for u := uint64(1); u < uint64(len(values)); u++ {
			naively["lost_updates"] += count(values[u][u] && slices.ContainsFunc(values[u:], func(v map[uint64]bool) bool { return !v[u] }))
		}
		row := judged(t, history.FencedWrite, 0, 1000, rapid.Permutation(events).Draw(t, "file order"))
		if diff := differ(&row, naively); diff != "" {
			t.Fatal(diff)
		}
	})
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
			e := acquire([]string{"m1", "m2"}[r.master], "x", fmt.Sprint("h", i), int64(r.from), int64(r.at), 0)
			until := r.at
			switch r.outcome {
			case 0:
				events = append(events, ended(history.KindReleasing, e, int64(r.until)))
				granted[r.at] = true
				for at := r.at; at < r.until; at++ {
					held[at] = held[at] || runs(r.master, at)
				}
			case 1:
				e.Hold, e.Outcome, e.Error = "", "failed", "canceled"
			case 2:
				e.Hold, e.Outcome = "", "failed"
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
			events = append(events, node("m1", "paused", int64(awayFrom)), node("m1", "resumed", int64(awayTo)))
		}
		row := judged(t, history.Mutex, 1000, 10_000, rapid.Permutation(events).Draw(t, "file order"))
		if diff := differ(&row, map[string]float64{"resource_outage_ms": float64(longest)}); diff != "" {
			t.Fatalf("%s: %+v", diff, requests)
		}
	})
}

// TestShares: what is due from the first moment of a time on counts, and not at its last.
func TestShares(t *testing.T) {
	var events []history.Event
	for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
		events = append(events, history.Event{Kind: history.KindFault, ID: "f", State: state, AtNS: []int64{3000, 3000, 7000, 7000}[i] * millisecond})
	}
	for _, q := range []struct {
		from           int64
		outcome, error string
		count          uint64
	}{
		{999, "failed", "", 0},
		{1000, "ok", "", 0},
		{2999, "ok", "", 0},
		{3000, "failed", "", 0},
		{6999, "ok", "", 0},
		{7000, "ok", "", 0},
		{8000, "failed", "canceled", 0},
		{9000, "failed", "", 4},
		{10_000, "failed", "", 0},
	} {
		e := acquire("m1", "x", fmt.Sprint("h", q.from), q.from, q.from+1, 0)
		e.Kind, e.Outcome, e.Error, e.Count = history.KindMatch, q.outcome, q.error, q.count
		events = append(events, e)
	}
	row := judged(t, history.Matchmaking, 1000, 10_000, events, []history.Event{acquire("m1", "x", "h", 8000, 8001, 0)})
	if diff := differ(&row, map[string]float64{"served": 4. / 9, "served_in_fault": 0.5, "acquired": 1}); diff != "" {
		t.Error(diff)
	}
}

// skewed are the events as their hosts' clocks have them: off by less than the bound.
func skewed(events []history.Event, bound int64, random *rand.Rand) []history.Event {
	host := map[string]int64{}
	for i := range events {
		e := &events[i]
		of := e.Node[1:] // m1 and w1 are on one host
		if _, known := host[of]; !known {
			host[of] = random.Int64N(2*bound+1) - bound
		}
		e.AtNS, e.ErrNS = e.AtNS+host[of], bound
		if e.FromNS != 0 {
			e.FromNS += host[of]
		}
	}
	return events
}

// TestClocks: what never overlapped is no violation whatever the clocks say within their bounds.
// What overlapped for longer than twice the bound is one, or in doubt; for longer than four
// times, it surely is one.
func TestClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound, overlap := rapid.Int64Range(1, 50).Draw(t, "bound"), rapid.Int64Range(-100, 400).Draw(t, "overlap")
		random := seed.Seed(rapid.Uint64().Draw(t, "seed")).Rand()
		first, second := acquire("m1", "r", "h1", 900, 1000, 0), acquire("m2", "r", "h2", 1500, 2000-overlap, 0)
		row := judged(t, history.Matchmaking, 0, 1000, skewed(slices.Concat(
			[]history.Event{first, ended(history.KindRelease, first, 2000), second, ended(history.KindRelease, second, 3000)},
			ordered{room: "O", worker: "w2", master: "m2", hold: "h1", from: 1000, start: 1010, open: 1060, answered: 1065, full: 2000}.events(),
			ordered{room: "R", worker: "w1", master: "m1", hold: "h2", from: 1990 - overlap, start: 2000 - overlap, open: 2450, answered: 2460}.events(),
		), bound*millisecond, random))
		sure := row.Figures["overlaps"] + row.Figures["duplicates"]
		all := sure + row.Figures["in_doubt"]
		if overlap <= 0 && sure > 0 || overlap > 2*bound && all != 2 || overlap > 4*bound && sure != 2 {
			t.Fatalf("overlap of %d ms, bound %d ms: %+v", overlap, bound, row.Figures)
		}
	})
}

// TestAnythingIsJudged: events of a small world, in any order and with any times, make nothing panic or hang.
func TestAnythingIsJudged(t *testing.T) {
	moments := rapid.SampledFrom([]int64{
		0, 1, 1e3, 1e6, 5e6, 100e6, 500e6, 1e9, 2e9, 3e9, 5e9, 10e9, 3600e9, 1 << 60, -1, -1e6, -1e9, -1 << 60,
	})
	kinds := rapid.SampledFrom([]history.Kind{
		history.KindPhase, history.KindMatch, history.KindAcquire, history.KindReleasing, history.KindRelease, history.KindLost,
		history.KindOrder, history.KindRoom, history.KindNode, history.KindFault, history.KindClock,
	})
	rapid.Check(t, func(t *rapid.T) {
		pick := func(from ...string) string { return rapid.SampledFrom(append(from, "")).Draw(t, "word") }
		run := history.Run{Lock: "raft", Workload: history.Mutex, DurationNS: 1e9, NodeHosts: map[string]string{"m1": "h1", "w2": "h2"}}
		if rapid.Bool().Draw(t, "matchmaking") {
			run.Workload, run.OfferedPS, run.Expect = history.Matchmaking, 10, &history.Expect{}
			run.Planned = []history.Planned{{ID: "f1", Aim: history.Aim{At: history.AimHolder}}, {ID: "f3"}}
		}
		events := []history.Event{{Kind: history.KindRun, Run: &run}}
		for range rapid.IntRange(0, 48).Draw(t, "events") {
			e := history.Event{
				Kind: kinds.Draw(t, "kind"), AtNS: moments.Draw(t, "at"), ErrNS: max(moments.Draw(t, "err"), 0), Node: pick("m1", "m2", "w1", "w2"),
				Host: pick("h1", "h2"), Client: pick("c1", "m1"), Hold: pick("a", "b"), Order: pick("o1", "o2"), Resource: pick("g1", "g2"),
				Room: pick("r1", "r2", "r3"), Worker: pick("w1", "w2"), Outcome: pick("ok", "failed", "unknown"), Token: rapid.Uint64Range(0, 3).Draw(t, "token"),
				ID: pick("f1", "f2"), Fault: pick("partition", "kill", history.FaultNodeLoss), Aim: &history.Aim{At: pick(history.AimHolder, history.AimLeader), Node: pick("m1")}, Unreachable: []string{pick("w1")},
				From: []string{pick("h1")}, To: []string{pick("h2")}, Nodes: []string{pick("m1")},
			}
			e.FromNS = e.AtNS - max(moments.Draw(t, "took"), 0)
			if states := e.Kind.States(); states != nil {
				e.State = rapid.SampledFrom(states).Draw(t, "state")
			}
			events = append(events, e)
		}
		r, err := record.Of(events)
		if err != nil {
			t.Fatal(err)
		}
		check.Judge(r)
	})
}
