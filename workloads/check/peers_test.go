package check_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// ask is one acquisition for the tests of peers: asked and answered in ms.
type ask struct {
	peer, resource string
	asked, at      int64
	outcome        string // ok if empty
}

func (a ask) event(i int) history.Event {
	e := history.Event{
		Kind: history.KindAcquire, Node: a.peer, Client: fmt.Sprint(a.peer, "/c", i), Resource: a.resource,
		FromNS: a.asked * ms, SentNS: a.asked * ms, AtNS: a.at * ms, Outcome: cmp.Or(a.outcome, "ok"),
	}
	if e.Outcome == "ok" {
		e.Hold = fmt.Sprint("h", i)
	} else {
		e.Error = "timeout"
	}
	return e
}

func findingsOf(asks []ask, measure, drain, end int64) *check.Findings {
	events := append([]history.Event{mutexRun()}, phases(measure, drain, end)...)
	for i, a := range asks {
		events = append(events, a.event(i))
	}
	return checktest.Events(events, options)
}

// told is what the tests compare of a peer.
type told struct {
	node                                          string
	acquires, gaveUp, waits, bypasses, max, inRow int64
	longestMS                                     int64
}

func tell(p *check.Peer) told {
	return told{
		node: p.Node, acquires: p.Acquires, gaveUp: p.GaveUp, waits: p.Wait.Count(),
		bypasses: p.Bypasses, max: p.BypassMax, inRow: p.InARowMax, longestMS: (p.Wait.Max() + ms/2) / ms,
	}
}

func TestPeersOfAKnownHistory(t *testing.T) {
	for _, c := range []struct {
		name string
		asks []ask
		want []told
	}{
		{"nobody is passed", []ask{
			{"m1", "r", 10, 12, ""}, {"m2", "r", 20, 23, ""},
		}, []told{
			{node: "m1", acquires: 1, waits: 1, longestMS: 2},
			{node: "m2", acquires: 1, waits: 1, longestMS: 3},
		}},
		{"one waits while two others alternate", []ask{
			{"m1", "r", 10, 12, ""},
			{"m2", "r", 11, 22, ""},
			{"m1", "r", 21, 32, ""},
			{"m2", "r", 31, 42, ""},
			{"m3", "r", 10, 52, ""},
		}, []told{
			{node: "m1", acquires: 2, waits: 2, bypasses: 1, max: 1, inRow: 1, longestMS: 11},
			{node: "m2", acquires: 2, waits: 2, bypasses: 2, max: 1, inRow: 1, longestMS: 11},
			{node: "m3", acquires: 1, waits: 1, bypasses: 4, max: 4, inRow: 4, longestMS: 42},
		}},
		{"a client behind another one of its peer", []ask{
			// m1's second client is passed twice, but its peer was served in between.
			{"m1", "r", 10, 21, ""}, {"m2", "r", 9, 20, ""}, {"m2", "r", 20, 22, ""}, {"m1", "r", 11, 23, ""},
		}, []told{
			{node: "m1", acquires: 2, waits: 2, bypasses: 3, max: 2, inRow: 1, longestMS: 12},
			{node: "m2", acquires: 2, waits: 2, bypasses: 1, max: 1, inRow: 1, longestMS: 11},
		}},
		{"the one who came last is served first", []ask{
			// m1 wants from 10 on without a break, so three grants in a row pass it.
			{"m2", "r", 9, 20, ""},
			{"m2", "r", 20, 21, ""},
			{"m2", "r", 21, 22, ""},
			{"m1", "r", 21, 30, ""},
			{"m1", "r", 10, 40, ""},
		}, []told{
			{node: "m1", acquires: 2, waits: 2, bypasses: 4, max: 3, inRow: 3, longestMS: 30},
			{node: "m2", acquires: 3, waits: 3, longestMS: 11},
		}},
		{"other resources do not count", []ask{
			{"m1", "r", 10, 30, ""}, {"m2", "s", 11, 12, ""}, {"m2", "s", 13, 14, ""}, {"m2", "r", 15, 16, ""},
		}, []told{
			{node: "m1", acquires: 1, waits: 1, bypasses: 1, max: 1, inRow: 1, longestMS: 20},
			{node: "m2", acquires: 3, waits: 3, longestMS: 1},
		}},
		{"who never gets it counts too", []ask{
			{"m1", "r", 10, 11, ""}, {"m1", "r", 20, 21, ""}, {"m2", "r", 5, 500, "failed"}, {"m2", "r", 500, 900, "unknown"},
		}, []told{
			{node: "m1", acquires: 2, waits: 2, longestMS: 1},
			{node: "m2", gaveUp: 2, waits: 2, bypasses: 2, max: 2, inRow: 2, longestMS: 495},
		}},
		{"a wait that was open at the end counts so far", []ask{
			{"m1", "r", 980, 990, ""}, {"m1", "r", 995, 1005, ""}, {"m2", "r", 400, 1050, ""},
		}, []told{
			{node: "m1", acquires: 1, waits: 2, longestMS: 10},
			{node: "m2", waits: 1, bypasses: 1, max: 1, inRow: 1, longestMS: 600},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := findingsOf(c.asks, 0, 1000, 1100)
			var got []told
			for i := range f.Peers {
				got = append(got, tell(&f.Peers[i]))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestPeersOfTheMeasuredPartOnly(t *testing.T) {
	f := findingsOf([]ask{
		{"m1", "r", 5, 10, ""}, {"m2", "r", 8, 15, ""}, // over in the warm-up
		{"m2", "r", 21, 30, ""}, {"m1", "r", 20, 60, ""}, // asked in the warm-up
		{"m2", "r", 100, 110, ""}, // asked when nothing was due any more
	}, 50, 90, 120)
	want := told{node: "m1", acquires: 1, waits: 1, bypasses: 1, max: 1, inRow: 1, longestMS: 40}
	if len(f.Peers) != 1 || tell(&f.Peers[0]) != want || f.PeerFairness != 1 {
		t.Errorf("%+v, want %+v alone", f.Peers, want)
	}
}

func TestPeersOfRepeats(t *testing.T) {
	one := findingsOf([]ask{{"m1", "r", 10, 12, ""}, {"m2", "r", 11, 22, ""}, {"m1", "r", 5, 42, ""}}, 0, 1000, 1000)
	two := findingsOf([]ask{{"m2", "r", 10, 12, ""}, {"m3", "r", 5, 22, ""}}, 0, 1000, 1000)
	before := tell(&one.Peers[1])
	m := check.Merge(one, two)
	want := []told{
		{node: "m1", acquires: 2, waits: 2, bypasses: 1, max: 1, inRow: 1, longestMS: 37},
		{node: "m2", acquires: 2, waits: 2, bypasses: 1, max: 1, inRow: 1, longestMS: 11},
		{node: "m3", acquires: 1, waits: 1, bypasses: 1, max: 1, inRow: 1, longestMS: 17},
	}
	var got []told
	for i := range m.Peers {
		got = append(got, tell(&m.Peers[i]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if fair := (9.0/(2*5) + 1) / 2; m.PeerFairness != fair {
		t.Errorf("fairness of peers %v, want %v", m.PeerFairness, fair)
	}
	if after := tell(&one.Peers[1]); after != before {
		t.Errorf("merging changed %+v to %+v", before, after)
	}
}

func drawAsks(t *rapid.T) []ask {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ask {
		a := ask{
			peer:     fmt.Sprint("m", rapid.IntRange(1, 3).Draw(t, "peer")),
			resource: fmt.Sprint("r", rapid.IntRange(1, 2).Draw(t, "resource")),
			asked:    rapid.Int64Range(1, 60).Draw(t, "asked"),
			outcome:  rapid.SampledFrom([]string{"ok", "ok", "ok", "failed", "unknown"}).Draw(t, "outcome"),
		}
		a.at = a.asked + rapid.Int64Range(0, 30).Draw(t, "wait")
		return a
	}), 1, 25).Draw(t, "asks")
}

// naivePeer goes through all pairs of waits and grants, as the definition does.
func naivePeer(peer string, asks []ask, measure, drain int64) told {
	p := told{node: peer}
	granted := func(a ask) bool { return a.outcome == "ok" && a.at < drain }
	for _, a := range asks {
		if a.peer != peer || a.at < measure || a.asked >= drain {
			continue
		}
		end := min(a.at, drain)
		p.waits++
		p.longestMS = max(p.longestMS, end-a.asked)
		switch {
		case granted(a):
			p.acquires++
		case a.at < drain:
			p.gaveUp++
		}
		passed := int64(0)
		for _, g := range asks {
			if !granted(g) || g.resource != a.resource || g.peer == peer || g.at <= a.asked || g.at >= end {
				continue
			}
			passed++
			// The row up to this grant, back to the last one to the peer. It counts if it
			// ends in the measured part: by the next one to the peer, or with the wait.
			row, over := int64(0), end
			for _, r := range asks {
				if granted(r) && r.resource == a.resource && r.peer == peer && r.at > g.at {
					over = min(over, r.at)
				}
				if granted(r) && r.resource == a.resource && r.peer != peer && r.at > a.asked && r.at <= g.at &&
					!slices.ContainsFunc(asks, func(m ask) bool {
						return granted(m) && m.resource == a.resource && m.peer == peer && m.at >= r.at && m.at <= g.at
					}) {
					row++
				}
			}
			if over >= measure {
				p.inRow = max(p.inRow, row)
			}
		}
		p.bypasses += passed
		p.max = max(p.max, passed)
	}
	return p
}

func TestPeersAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asks := drawAsks(t)
		measure := rapid.Int64Range(1, 30).Draw(t, "measure")
		drain := measure + rapid.Int64Range(1, 70).Draw(t, "measured")
		f := findingsOf(asks, measure, drain, 200)
		seen := 0
		sum, squares := 0.0, 0.0
		for n := range 3 {
			want := naivePeer(fmt.Sprint("m", n+1), asks, measure, drain)
			if want.waits == 0 {
				continue
			}
			sum, squares = sum+float64(want.acquires), squares+float64(want.acquires*want.acquires)
			i := slices.IndexFunc(f.Peers, func(p check.Peer) bool { return p.Node == want.node })
			if i < 0 {
				t.Fatalf("%s is missing: %+v", want.node, asks)
			}
			if got := tell(&f.Peers[i]); got != want {
				t.Fatalf("got  %+v\nwant %+v\nof %+v", got, want, asks)
			}
			seen++
		}
		if len(f.Peers) != seen {
			t.Fatalf("%d peers, want %d", len(f.Peers), seen)
		}
		if fair := sum * sum / (float64(seen) * squares); sum > 0 && f.PeerFairness != fair {
			t.Fatalf("fairness of peers %v, want %v", f.PeerFairness, fair)
		}
	})
}
