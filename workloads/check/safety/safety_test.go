package safety_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/internal/seed"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

const ms = int64(1e6)

// judge judges events of a run with a master and a worker on each of two hosts.
func judge(t interface{ Fatal(args ...any) }, workload string, lists ...[]history.Event) safety.Findings {
	run := history.Event{Kind: history.KindRun, Run: &history.Run{
		Schema: history.Schema, Lock: "raft", Workload: workload, DurationNS: 1000 * ms, OfferedPS: 1, NodeHosts: map[string]string{"m1": "ha", "w1": "ha", "m2": "hc", "w2": "hc"},
	}}
	phases := []history.Event{
		{Kind: history.KindPhase, State: "warmup", AtNS: 0},
		{Kind: history.KindPhase, State: "measure", AtNS: 0},
		{Kind: history.KindPhase, State: "drain", AtNS: 1000 * ms},
		{Kind: history.KindPhase, State: "end", AtNS: 1000 * ms},
	}
	r, err := record.Of(slices.Concat([]history.Event{run}, phases, slices.Concat(lists...)))
	if err != nil {
		t.Fatal(err)
	}
	return safety.Judge(r)
}

func acquire(node, hold string, from, at int64, token uint64) history.Event {
	return history.Event{
		Kind: history.KindAcquire, Node: node, Client: node + "/c", Hold: hold, Resource: "r",
		FromNS: from * ms, AtNS: at * ms, Outcome: "ok", Token: token,
	}
}

func release(node, hold string, from, at int64) history.Event {
	return history.Event{Kind: history.KindRelease, Node: node, Hold: hold, Resource: "r", FromNS: from * ms, AtNS: at * ms, Outcome: "ok"}
}

func releasing(node, hold string, at int64) history.Event {
	return history.Event{Kind: history.KindReleasing, Node: node, Hold: hold, Resource: "r", AtNS: at * ms}
}

func lost(node, hold string, at int64) history.Event {
	return history.Event{Kind: history.KindLost, Node: node, Hold: hold, Resource: "r", AtNS: at * ms}
}

func killed(node string, asked, seen int64) history.Event {
	return history.Event{Kind: history.KindNode, Node: node, State: history.NodeKilled, FromNS: asked * ms, AtNS: seen * ms}
}

func withErr(e history.Event, errMS int64) history.Event {
	e.ErrNS = errMS * ms
	return e
}

func TestOverlaps(t *testing.T) {
	second := []history.Event{acquire("m2", "h2", 5, 15, 0), release("m2", "h2", 30, 31)}
	for _, c := range []struct {
		name                      string
		events                    []history.Event
		overlaps, doubts, zombies int64 // zombies: ms
	}{
		{"one after the other", []history.Event{
			acquire("m1", "h1", 0, 10, 0), release("m1", "h1", 15, 16), second[0], second[1],
		}, 0, 0, 0},
		{"granted while the release is under way", []history.Event{
			acquire("m1", "h1", 0, 10, 0), release("m1", "h1", 14, 40), second[0], second[1],
		}, 0, 0, 0},
		{"granted twice", []history.Event{acquire("m1", "h1", 0, 10, 0), release("m1", "h1", 20, 22), second[0], second[1]}, 1, 0, 5},
		{"in another order in the file", []history.Event{second[1], release("m1", "h1", 20, 22), second[0], acquire("m1", "h1", 0, 10, 0)}, 1, 0, 5},
		{"the loss was noticed in time", []history.Event{
			acquire("m1", "h1", 0, 10, 0), lost("m1", "h1", 14), release("m1", "h1", 20, 22), second[0], second[1],
		}, 0, 0, 0},
		{"a zombie, and two holds meanwhile: one overlap", []history.Event{
			acquire("m1", "h1", 0, 10, 0), lost("m1", "h1", 90), second[0], second[1],
			acquire("m2", "h3", 35, 40, 0), release("m2", "h3", 50, 51),
		}, 1, 0, 75},
		{"the holder was killed", []history.Event{acquire("m1", "h1", 0, 10, 0), killed("m1", 12, 12), second[0], second[1]}, 0, 0, 0},
		{"granted between the kill and its being seen", []history.Event{acquire("m1", "h1", 0, 10, 0), killed("m1", 12, 20), second[0], second[1]}, 0, 0, 0},
		{"the holder was killed with its release under way", []history.Event{
			acquire("m1", "h1", 0, 10, 0), releasing("m1", "h1", 14), killed("m1", 16, 18), second[0], second[1],
		}, 0, 0, 0},
		{"granted before the release was sent", []history.Event{
			acquire("m1", "h1", 0, 10, 0), releasing("m1", "h1", 17), killed("m1", 20, 21), second[0], second[1],
		}, 1, 0, 2},
		{"a release that was never answered", []history.Event{acquire("m1", "h1", 0, 10, 0), releasing("m1", "h1", 14), second[0], second[1]}, 0, 0, 0},
		{"never released", []history.Event{acquire("m1", "h1", 0, 10, 0), second[0], second[1]}, 1, 0, 985},
		{"an unknown acquisition believes nothing", []history.Event{
			{Kind: history.KindAcquire, Node: "m1", Resource: "r", AtNS: 10 * ms, Outcome: "unknown"}, second[0], second[1],
		}, 0, 0, 0},
		{"within the error of the clocks", []history.Event{
			withErr(acquire("m1", "h1", 0, 10, 0), 3), release("m1", "h1", 20, 22), withErr(second[0], 3), second[1],
		}, 0, 1, 0},
		{"beyond the error of the clocks", []history.Event{
			withErr(acquire("m1", "h1", 0, 10, 0), 2), release("m1", "h1", 20, 22), withErr(second[0], 2), second[1],
		}, 1, 0, 1},
		{"of a canary, or of another resource", []history.Event{
			acquire("m1", "h1", 0, 10, 0), on("canary-m1", acquire("m1", "k1", 0, 10, 0)), on("canary-m1", acquire("m2", "k2", 0, 11, 0)),
			on("x", acquire("m2", "h2", 0, 11, 0)), release("m1", "h1", 20, 21),
		}, 0, 0, 0},
	} {
		f := judge(t, history.Mutex, c.events)
		if f.Overlaps != c.overlaps || f.InDoubt != c.doubts || f.ZombieNS != c.zombies*ms {
			t.Errorf("%s: %d overlaps, %d in doubt, zombie %d ms; want %d, %d, %d", c.name, f.Overlaps, f.InDoubt, f.ZombieNS/ms, c.overlaps, c.doubts, c.zombies)
		}
		want := result.Statement{State: result.OK}
		switch {
		case c.overlaps > 0:
			want = result.Statement{State: result.Failed, Code: result.Overlaps, N: float64(c.overlaps)}
		case c.doubts > 0:
			want = result.Statement{State: result.Unknown, Code: result.InDoubt, N: float64(c.doubts)}
		}
		if f.Statement != want || len(f.Violations) != int(c.overlaps) {
			t.Errorf("%s: %+v, %+v", c.name, f.Statement, f.Violations)
		}
	}
}

func on(resource string, e history.Event) history.Event {
	e.Resource = resource
	return e
}

func TestTokens(t *testing.T) {
	hold := func(id string, asked, from, to int64, token uint64) []history.Event {
		return []history.Event{acquire("m1", id, asked, from, token), release("m1", id, to, to+1)}
	}
	for _, c := range []struct {
		name  string
		holds [][]history.Event
		back  int64
	}{
		{"growing", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 13, 20, 25, 6)}, 0},
		{"falling", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 13, 20, 25, 4)}, 1},
		{"falling, of a client that had asked before", [][]history.Event{hold("1", 5, 10, 12, 5), hold("2", 0, 20, 25, 4)}, 1},
		{"the same again", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 0, 12, 25, 5)}, 1},
		{"below the one before the last", [][]history.Event{hold("1", 0, 10, 12, 7), hold("2", 0, 13, 15, 3), hold("3", 0, 16, 18, 5)}, 2},
		{"at once: that is an overlap", [][]history.Event{hold("1", 0, 10, 20, 5), hold("2", 0, 19, 25, 5)}, 0},
		{"no tokens", [][]history.Event{hold("1", 0, 10, 12, 0), hold("2", 13, 20, 25, 0)}, 0},
	} {
		if f := judge(t, history.Mutex, c.holds...); f.TokensBack != c.back {
			t.Errorf("%s: %d went back, want %d: %+v", c.name, f.TokensBack, c.back, f.Violations)
		}
	}
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
		var overlaps, doubts, back int64
		for i, h := range holds {
			id := fmt.Sprint("h", i)
			events = append(events, on(fmt.Sprint("r", h.resource), withErr(acquire("m1", id, int64(h.from-1), int64(h.from), uint64(h.token)), int64(h.err))),
				on(fmt.Sprint("r", h.resource), release("m1", id, int64(h.to), int64(h.to+1))))
			later := func(o hold, n int) bool { // o is another hold of the resource that began later
				begins, other := h.from+h.err, o.from+o.err
				return o.resource == h.resource && cmp.Or(cmp.Compare(other, begins), cmp.Compare(h.to-h.err, o.to-o.err), cmp.Compare(n, i)) > 0
			}
			sure, maybe, after := false, false, false
			for n, o := range holds {
				sure = sure || later(o, n) && o.from+o.err < h.to-h.err
				maybe = maybe || later(o, n) && o.from < h.to
				after = after || o.resource == h.resource && h.token > 0 && o.token >= h.token && o.to+o.err <= h.from-h.err
			}
			overlaps += count(sure)
			doubts += count(maybe && !sure)
			back += count(after)
		}
		f := judge(t, history.Mutex, rapid.Permutation(events).Draw(t, "file order"))
		if f.Overlaps != overlaps || f.TokensBack != back || exact && f.InDoubt != doubts {
			t.Fatalf("%d overlaps, %d in doubt, %d back, naively %d, %d, %d: %+v", f.Overlaps, f.InDoubt, f.TokensBack, overlaps, doubts, back, holds)
		}
	})
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// TestTheFirstViolationsAreTold: in order of time, with both sides.
func TestTheFirstViolationsAreTold(t *testing.T) {
	var events []history.Event
	for i := range int64(30) {
		id := fmt.Sprint(29 - i)
		events = append(events, acquire("m1", "h"+id, 10*i, 10*i+1, 0), release("m1", "h"+id, 10*i+15, 10*i+16))
	}
	f := judge(t, history.Mutex, events)
	if f.Overlaps != 29 || len(f.Violations) != result.MaxViolations {
		t.Fatalf("%d overlaps, %d are told", f.Overlaps, len(f.Violations))
	}
	want := result.Violation{
		Code: result.Overlaps, AtMS: 191, Resource: "r",
		First: result.Party{Node: "m1", Hold: "h11", FromMS: 181, ToMS: 195}, Second: result.Party{Node: "m1", Hold: "h10", FromMS: 191, ToMS: 205},
	}
	if last := f.Violations[18]; last != want {
		t.Errorf("got %+v, want %+v", last, want)
	}
}

// defect is what is wrong with a simulated lock.
type defect string

const (
	correct       defect = "correct"
	grantsTwice   defect = "grants twice"         // now and then forgets that it is held
	staleLease    defect = "stale lease"          // the client believes longer than the server
	deletesOthers defect = "deletes others"       // a late release frees the resource for which another one holds
	tokensStand   defect = "tokens do not grow"   // but it excludes
	unknownAsNo   defect = "unknown counts as no" // the server granted, the client was told no: safe, only slow
)

// simulate plays clients of one lock in virtual time.
func simulate(d defect, s seed.Seed) (events []history.Event) {
	const lease = 50
	random, now, expires, held, token := s.Rand(), int64(10), int64(0), false, uint64(0)
	for i := range 300 {
		node, hold, asked := fmt.Sprint("m", i%3), fmt.Sprint("h", i), now
		if held && now < expires {
			now = expires + 1
		}
		token++
		shown := token
		if d == tokensStand {
			shown = 7
		}
		held, expires = true, now+lease
		if d == unknownAsNo && random.IntN(5) == 0 {
			events = append(events, history.Event{Kind: history.KindAcquire, Node: node, Resource: "r", FromNS: asked * ms, AtNS: (now + 2) * ms, Outcome: "unknown"})
			now += 3
			continue
		}
		now++
		begin := now
		events = append(events, acquire(node, hold, asked, now, shown))
		switch random.IntN(4) {
		case 0: // the holder is slow: its lease runs out
			stop := expires - 1
			if d == staleLease {
				stop = expires + 30
			}
			events = append(events, lost(node, hold, stop))
			if now = expires; d == deletesOthers { // its release arrives while the next one holds
				held, now = false, begin+2
			}
		case 1:
			events = append(events, killed(node, begin+2, begin+2), history.Event{Kind: history.KindNode, Node: node, State: "started", AtNS: (begin + 3) * ms})
			now = begin + 4
		default:
			now += 5
			events = append(events, release(node, hold, now, now+2))
			held = false
			if now++; d == grantsTwice && random.IntN(20) == 0 {
				now = begin + 2
			}
		}
	}
	random.Shuffle(len(events), func(a, b int) { events[a], events[b] = events[b], events[a] })
	return events
}

func TestBrokenLocksAreFlagged(t *testing.T) {
	for d, want := range map[defect]result.State{
		correct: result.OK, unknownAsNo: result.OK, grantsTwice: result.Failed, staleLease: result.Failed, deletesOthers: result.Failed, tokensStand: result.Failed,
	} {
		for s := range seed.Seed(20) {
			if f := judge(t, history.Mutex, simulate(d, s)); f.Statement.State != want {
				t.Errorf("%s, seed %d: %+v", d, s, f)
			}
		}
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
		f := judge(t, history.Matchmaking, skewed(slices.Concat([]history.Event{
			acquire("m1", "h1", 900, 1000, 0), release("m1", "h1", 2000, 2001),
			acquire("m2", "h2", 1500, 2000-overlap, 0), release("m2", "h2", 3000, 3001),
		},
			ordered{room: "O", worker: "w2", master: "m2", hold: "h1", from: 1000, start: 1010, open: 1060, answered: 1065, full: 2000}.events(),
			ordered{room: "R", worker: "w1", master: "m1", hold: "h2", from: 1990 - overlap, start: 2000 - overlap, open: 2450, answered: 2460}.events(),
		), bound*ms, random))
		sure, all := f.Overlaps+f.Duplicates, f.Overlaps+f.Duplicates+f.InDoubt
		if overlap <= 0 && sure > 0 || overlap > 2*bound && all != 2 || overlap > 4*bound && sure != 2 {
			t.Fatalf("overlap of %d ms, bound %d ms: %+v", overlap, bound, f)
		}
	})
}
