package core_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/multiphase/core"
)

// TestNeverTwoHolders walks at random through worlds too large to explore. Links
// break, but only while everybody sees everybody, so that no peer is ever alone: see
// testdata/flap.txt for what happens then.
func TestNeverTwoHolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 5).Draw(t, "peers")
		sc := &scope{
			peers: n, requests: make([]int, n), giveUps: rapid.IntRange(0, 20).Draw(t, "giveUps"),
			passes: 2 * (n - 1), options: core.DefaultOptions(),
		}
		for i := range sc.requests {
			sc.requests[i] = rapid.IntRange(0, 8).Draw(t, "requests")
		}
		if rapid.Bool().Draw(t, "faults") {
			sc.passes = 0 // who loses its connection loses its claim to a turn
			for range rapid.IntRange(1, 4).Draw(t, "cuts") {
				i := rapid.IntRange(1, n-1).Draw(t, "i")
				sc.cuts = append(sc.cuts, [2]int{rapid.IntRange(0, i-1).Draw(t, "j"), i})
			}
			sc.mends = len(sc.cuts)
		}
		w := newWorld(sc)
		for {
			var next []*world
			var names []string
			w.successors(sc, func(name string, c *world) {
				if c.cuts > w.cuts && !w.complete() {
					return
				}
				next, names = append(next, c), append(names, name)
			})
			if len(next) == 0 {
				break
			}
			i := rapid.IntRange(0, len(next)-1).Draw(t, "move")
			t.Log(names[i])
			w = next[i]
			if what := w.unsafe(sc); what != "" {
				t.Fatal(what)
			}
		}
		if w.someoneWaits() {
			t.Fatal(deadEnd)
		}
		for i := range w.peers {
			if !w.peers[i].Idle() {
				t.Fatalf("all is over and peer %d still remembers something", i)
			}
		}
	})
}

// TestStepIsAFunction feeds any events, sensible or not, to two copies.
func TestStepIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := core.Options{
			Rule: core.Rule(rapid.IntRange(0, 1).Draw(t, "rule")),
			Fair: rapid.Bool().Draw(t, "fair"), View: rapid.Bool().Draw(t, "view"), Rounds: rapid.Bool().Draw(t, "rounds"),
		}
		a := core.New(&core.Config{Self: 1, Peers: core.SetOf(0, 2, 3), Options: opts})
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			ev := core.Event{
				Kind: core.EventKind(rapid.IntRange(1, 5).Draw(t, "event")),
				Peer: rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "peer"),
				Msg: core.Message{
					Kind:  core.MessageKind(rapid.IntRange(1, 3).Draw(t, "message")),
					Round: rapid.Uint64Range(0, 4).Draw(t, "round"),
					View:  core.Set(rapid.Uint64Range(0, 15).Draw(t, "view")),
					Lurks: rapid.Bool().Draw(t, "lurks"),
				},
			}
			b := a.Clone()
			before := a.AppendEncode(nil)
			fromA := a.Step(ev, nil)
			if !bytes.Equal(before, b.AppendEncode(nil)) {
				t.Fatal("a step of the original changed the clone")
			}
			fromB := b.Step(ev, nil)
			if !bytes.Equal(a.AppendEncode(nil), b.AppendEncode(nil)) || len(fromA) != len(fromB) {
				t.Fatal("two steps from one state differ")
			}
			for i := range fromA {
				if fromA[i] != fromB[i] {
					t.Fatalf("two steps from one state differ: %v and %v", fromA[i], fromB[i])
				}
				if fromA[i].Kind == core.Send && (fromA[i].To == 0 || !fromA[i].To.Within(a.Connected())) {
					t.Fatalf("%v goes to somebody who is not connected (%v)", fromA[i], a.Connected())
				}
			}
		}
	})
}
