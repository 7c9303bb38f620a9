package check_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

func acquire(node, client, hold string, from, at int64, token uint64) history.Event {
	return history.Event{
		Kind: history.KindAcquire, Node: node, Client: client, Hold: hold, Resource: "r",
		FromNS: from * ms, AtNS: at * ms, Outcome: "ok", Token: token,
	}
}

func release(node, hold string, from, at int64) history.Event {
	return history.Event{Kind: history.KindRelease, Node: node, Hold: hold, Resource: "r", FromNS: from * ms, AtNS: at * ms, Outcome: "ok"}
}

func releasing(node, hold string, at int64) history.Event {
	return history.Event{Kind: history.KindReleasing, Node: node, Hold: hold, Resource: "r", AtNS: at * ms}
}

// killed is the end of a process that was asked for at one time and seen at another.
func killed(name string, asked, seen int64) history.Event {
	e := node(name, "killed", seen)
	e.FromNS = asked * ms
	return e
}

func lost(node, hold string, at int64) history.Event {
	return history.Event{Kind: history.KindLost, Node: node, Hold: hold, Resource: "r", AtNS: at * ms}
}

func mutexRun() history.Event {
	return history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "raft", Workload: history.Mutex}}
}

// TestNoFaultIsToBlame for what went on before it, or long after.
func TestNoFaultIsToBlame(t *testing.T) {
	twice := func(from int64) []history.Event { // two hold at once, and had asked at from
		one, other := fmt.Sprint("a", from), fmt.Sprint("b", from)
		return []history.Event{
			acquire("m1", "a", one, from, from+10, 0), release("m1", one, from+60, from+61),
			acquire("m2", "b", other, from+5, from+20, 0), release("m2", other, from+60, from+61),
		}
	}
	cut := fault("f1", "partition", 1000, 2000, cutAC)
	for _, c := range []struct {
		name      string
		faults    []history.Event
		at        []int64
		untouched int64
		counted   bool
	}{
		{"before it, in it, soon after and long after", cut, []int64{100, 1500, 2500, 4000}, 2, true},
		{"they asked before it, and got it in it", cut, []int64{985}, 0, true},
		{"all in it", cut, []int64{1500}, 0, true},
		{"no overlap", cut, nil, 0, false},
		{"no fault", nil, []int64{100}, 0, false},
	} {
		events := append([]history.Event{mutexRun()}, c.faults...)
		for _, at := range c.at {
			events = append(events, twice(at)...)
		}
		f := checktest.Events(events, options)
		n, counted := f.Counts["overlaps_untouched"]
		if n != c.untouched || counted != c.counted || f.Overlaps != int64(len(c.at)) {
			t.Errorf("%s: %d of %d overlaps are touched by no fault (%v), want %d (%v)", c.name, n, f.Overlaps, counted, c.untouched, c.counted)
		}
	}
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		name     string
		events   []history.Event
		overlaps int64
		zombie   int64 // ms
	}{
		{"one after the other", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 20, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"granted while the release is under way", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), release("m1", "h1", 20, 40),
			acquire("m2", "b", "h2", 5, 25, 0), release("m2", "h2", 50, 51),
		}, 0, 0},
		{"granted twice", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 1, 5},
		{"the loss was noticed in time", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), lost("m1", "h1", 14), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"a zombie, and two who held meanwhile: one overlap", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), lost("m1", "h1", 90),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
			acquire("m2", "b", "h3", 35, 40, 0), release("m2", "h3", 50, 51),
		}, 1, 75},
		{"the holder was killed", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), node("m1", "killed", 12),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"the holder was killed with its release under way", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), releasing("m1", "h1", 14), killed("m1", 16, 18),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"granted before the release was sent", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), releasing("m1", "h1", 17), killed("m1", 20, 21),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 1, 2},
		{"a release that was never answered", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), releasing("m1", "h1", 14),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"granted between the kill and its being seen", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0), killed("m1", 12, 20),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"got its hold while the kill was under way", []history.Event{
			acquire("m1", "a", "h1", 0, 14, 0), killed("m1", 12, 20),
			acquire("m2", "b", "h2", 5, 25, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"never released", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 0),
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 1, 985},
		{"an unknown acquisition believes nothing", []history.Event{
			{Kind: history.KindAcquire, Node: "m1", Client: "a", Resource: "r", FromNS: 0, AtNS: 10 * ms, Outcome: "unknown"},
			acquire("m2", "b", "h2", 5, 15, 0), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"the same hold name on two nodes", []history.Event{
			acquire("m1", "a", "h", 0, 10, 0), release("m1", "h", 20, 22),
			acquire("m2", "b", "h", 5, 15, 0), release("m2", "h", 30, 31),
		}, 1, 5},
		{"within the error of the clocks", []history.Event{
			withErr(acquire("m1", "a", "h1", 0, 10, 0), 3), release("m1", "h1", 20, 22),
			withErr(acquire("m2", "b", "h2", 5, 15, 0), 3), release("m2", "h2", 30, 31),
		}, 0, 0},
		{"beyond the error of the clocks", []history.Event{
			withErr(acquire("m1", "a", "h1", 0, 10, 0), 2), release("m1", "h1", 20, 22),
			withErr(acquire("m2", "b", "h2", 5, 15, 0), 2), release("m2", "h2", 30, 31),
		}, 1, 1},
		{"granted by the server before the next client was told", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), granted(9, 7), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 15, 8), granted(12, 8), granted(14, 8), release("m2", "h2", 30, 31),
		}, 1, 8},
		{"granted by the server to a client that was told when the holder had noticed", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), lost("m1", "h1", 40),
			acquire("m2", "b", "h2", 5, 45, 8), granted(31, 8), release("m2", "h2", 50, 51),
		}, 0, 9},
		{"granted by the server to a client that never was told", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), granted(9, 7), lost("m1", "h1", 40), granted(31, 8),
		}, 0, 9},
		{"granted by the server after the release was sent, and of another resource", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), granted(9, 7), releasing("m1", "h1", 20), release("m1", "h1", 20, 30),
			acquire("m2", "b", "h2", 5, 26, 8), granted(21, 8), release("m2", "h2", 50, 51),
			{Kind: history.KindGrant, Resource: "other", AtNS: 12 * ms, Token: 9},
		}, 0, 0},
		{"a token that came again", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), lost("m1", "h1", 40), granted(31, 8),
			acquire("m2", "b", "h2", 45, 50, 8), release("m2", "h2", 60, 61),
		}, 0, 9},
		{"applied again by a new leader, of which only it has a record", []history.Event{
			acquire("m1", "a", "h1", 0, 10, 7), lost("m1", "h1", 40), granted(31, 7),
		}, 0, 0},
		{"a grant within the error of the clocks", []history.Event{
			withErr(acquire("m1", "a", "h1", 0, 10, 7), 2), lost("m1", "h1", 40), withErr(granted(37, 8), 2),
		}, 0, 0},
		{"out of order in the file", []history.Event{
			release("m2", "h2", 30, 31), release("m1", "h1", 20, 22),
			acquire("m2", "b", "h2", 5, 15, 0), acquire("m1", "a", "h1", 0, 10, 0),
		}, 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := append([]history.Event{mutexRun()}, phases(0, 1000, 1000)...)
			f := checktest.Events(append(events, c.events...), options)
			if f.Overlaps != c.overlaps || f.ZombieNS != c.zombie*ms {
				t.Errorf("%d overlaps, zombie %d ms; want %d, %d", f.Overlaps, f.ZombieNS/ms, c.overlaps, c.zombie)
			}
			recorded := slices.ContainsFunc(c.events, func(e history.Event) bool { return e.Kind == history.KindGrant })
			if f.ServerGrants != recorded {
				t.Errorf("grants of a server: %v, want %v", f.ServerGrants, recorded)
			}
		})
	}
}

func granted(at int64, token uint64) history.Event {
	return history.Event{Kind: history.KindGrant, Resource: "r", AtNS: at * ms, Token: token}
}

func withErr(e history.Event, errMS int64) history.Event {
	e.ErrNS = errMS * ms
	return e
}

// TestTokens: of two holds that followed each other the later one has the higher token, whenever
// they were asked for.
func TestTokens(t *testing.T) {
	hold := func(id string, asked, from, to int64, token uint64) []history.Event {
		return []history.Event{acquire("m", "c"+id, id, asked, from, token), release("m", id, to, to+1)}
	}
	for _, c := range []struct {
		name   string
		holds  [][]history.Event
		broken int64
	}{
		{"growing", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 13, 20, 25, 6)}, 0},
		{"falling", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 13, 20, 25, 4)}, 1},
		{"falling, of who had asked before", [][]history.Event{hold("1", 5, 10, 12, 5), hold("2", 0, 20, 25, 4)}, 1},
		{"the same again", [][]history.Event{hold("1", 0, 10, 12, 5), hold("2", 0, 12, 25, 5)}, 1},
		{"below the one before the last", [][]history.Event{hold("1", 0, 10, 12, 7), hold("2", 0, 13, 15, 3), hold("3", 0, 16, 18, 5)}, 2},
		{"at once: that is an overlap", [][]history.Event{hold("1", 0, 10, 20, 5), hold("2", 0, 19, 25, 5)}, 0},
		{"no tokens", [][]history.Event{hold("1", 0, 10, 12, 0), hold("2", 13, 20, 25, 0)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if f := checktest.Events(append(phases(0, 1000, 1000), slices.Concat(c.holds...)...), options); f.TokensBroken != c.broken {
				t.Errorf("%d broken, want %d: %+v", f.TokensBroken, c.broken, f.Examples)
			}
		})
	}
}

// belief is a hold for the property tests.
type belief struct{ resource, node, from, to, err, asked, token int }

func drawBeliefs(t *rapid.T) []belief {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) belief {
		b := belief{
			resource: rapid.IntRange(0, 2).Draw(t, "resource"), node: rapid.IntRange(0, 2).Draw(t, "node"),
			from: rapid.IntRange(9, 70).Draw(t, "from"), err: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "err"),
			token: rapid.IntRange(0, 9).Draw(t, "token"),
		}
		b.to = b.from + rapid.IntRange(0, 12).Draw(t, "length")
		b.asked = b.from - rapid.IntRange(0, 8).Draw(t, "wait")
		return b
	}), 0, 14).Draw(t, "holds")
}

func TestOverlapsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beliefs := drawBeliefs(t)
		events := phases(0, 1000, 1000)
		for i, b := range beliefs {
			hold, node := fmt.Sprint("h", i), fmt.Sprint("m", b.node)
			a := withErr(acquire(node, "c", hold, int64(b.asked), int64(b.from), uint64(b.token)), int64(b.err))
			r := release(node, hold, int64(b.to), int64(b.to+1))
			a.Resource, r.Resource = fmt.Sprint("r", b.resource), fmt.Sprint("r", b.resource)
			events = append(events, a, r)
		}
		perm := rapid.Permutation(events).Draw(t, "file order")
		f := checktest.Events(perm, options)

		// A hold overlaps if any other began before it (or at the same time, and has the
		// smaller name) and certainly lasts beyond its certain beginning. That other is stale.
		holds, stale := int64(0), map[int]bool{}
		for i, h := range beliefs {
			if h.from+h.err >= h.to-h.err {
				continue
			}
			overlaps := false
			for j, o := range beliefs {
				first := o.from+o.err < h.from+h.err || (o.from+o.err == h.from+h.err && fmt.Sprint("h", j) < fmt.Sprint("h", i))
				if i != j && o.resource == h.resource && first && h.from+h.err < o.to-o.err {
					overlaps, stale[j] = true, true
				}
			}
			if overlaps {
				holds++
			}
		}
		if f.OverlapHolds != holds || f.Overlaps != int64(len(stale)) {
			t.Fatalf("got %d overlaps of %d holds, naively %d of %d: %+v", f.Overlaps, f.OverlapHolds, len(stale), holds, beliefs)
		}
	})
}

func TestTokensAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beliefs := drawBeliefs(t)
		events := phases(0, 1000, 1000)
		for i := range beliefs {
			beliefs[i].to = max(beliefs[i].to, beliefs[i].from+1)
			b := beliefs[i]
			hold := fmt.Sprint("h", i)
			a := withErr(acquire("m", fmt.Sprint("c", i), hold, int64(b.asked), int64(b.from), uint64(b.token)), int64(b.err))
			r := release("m", hold, int64(b.to), int64(b.to+1))
			a.Resource, r.Resource = fmt.Sprint("r", b.resource), fmt.Sprint("r", b.resource)
			events = append(events, a, r)
		}
		broken := int64(0)
		for _, h := range beliefs {
			if slices.ContainsFunc(beliefs, func(o belief) bool {
				return o.resource == h.resource && h.token > 0 && o.token >= h.token && o.to+o.err <= h.from-h.err
			}) {
				broken++
			}
		}
		f := checktest.Events(rapid.Permutation(events).Draw(t, "file order"), options)
		if f.TokensBroken != broken {
			t.Fatalf("got %d, naively %d: %+v", f.TokensBroken, broken, beliefs)
		}
	})
}

func TestMeasuresOfAcquisitions(t *testing.T) {
	events := append([]history.Event{mutexRun()}, phases(0, 1000, 1000)...)
	messages := uint64(100)
	for i := range int64(11) {
		a := acquire("m1", fmt.Sprint("c", i%2), fmt.Sprint("h", i), 10*i, 10*i+4, uint64(i+1))
		a.SentNS = a.FromNS + ms
		a.Messages = messages
		if messages += 6; i == 4 {
			messages = 6 // the node started anew
		}
		events = append(events, a, release("m1", fmt.Sprint("h", i), 10*i+6, 10*i+7))
	}
	f := checktest.Events(events, options)
	for name, got := range map[string][2]float64{
		"acquire ms":  {float64(f.Acquire.Quantile(0.5)) / float64(ms), 3},
		"hold ms":     {float64(f.Hold.Quantile(0.5)) / float64(ms), 2},
		"latency ms":  {float64(f.Latency.Quantile(0.99)) / float64(ms), 4},
		"lateness ms": {float64(f.Lateness.Max()) / float64(ms), 1},
		"messages":    {float64(f.MessagesSent), 60},
		"acquired":    {float64(f.AcquiredOK), 11},
		"fairness":    {f.Fairness, 121.0 / (2 * (36 + 25))},
		"available":   {f.Availability(), 1},
		"achieved":    {f.AchievedPS(), 11},
	} {
		if math.Abs(got[0]-got[1]) > 0.002*got[1] {
			t.Errorf("%s: got %v, want %v", name, got[0], got[1])
		}
	}
}
