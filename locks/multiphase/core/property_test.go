package core

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// TestNeverTwoHolders walks at random through worlds too large to explore. Links
// break, but only while everybody sees everybody, so that no peer is ever alone: see
// testdata/flap.txt for what happens then.
func TestNeverTwoHolders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 5).Draw(t, "peers")
		sc := explore.Scope{
			Peers: n, Requests: make([]int, n), GiveUps: rapid.IntRange(0, 20).Draw(t, "giveUps"), Bypass: 2 * (n - 1),
		}
		for i := range sc.Requests {
			sc.Requests[i] = rapid.IntRange(0, 8).Draw(t, "requests")
		}
		if rapid.Bool().Draw(t, "faults") {
			sc.Bypass = 0 // who loses its connection loses its claim to a turn
			for range rapid.IntRange(1, 4).Draw(t, "cuts") {
				i := rapid.IntRange(1, n-1).Draw(t, "i")
				sc.Links = append(sc.Links, [2]int{rapid.IntRange(0, i-1).Draw(t, "j"), i})
			}
			sc.Mends = len(sc.Links)
		}
		type walk = explore.Walk[State, Message, *State]
		peertest.Walk(t, DefaultOptions().Algorithm(), sc, func(w *walk, m explore.Move) bool {
			return m.Kind != explore.Cut || w.Healed()
		})
	})
}

// TestStepIsAFunction feeds any events, sensible or not, to two copies.
func TestStepIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			Rule: Rule(rapid.IntRange(0, 1).Draw(t, "rule")),
			Fair: rapid.Bool().Draw(t, "fair"), View: rapid.Bool().Draw(t, "view"), Rounds: rapid.Bool().Draw(t, "rounds"),
		}
		a := New(&Config{Self: 1, Peers: peercore.SetOf(0, 2, 3), Options: opts})
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			ev := Event{
				Kind: peercore.EventKind(rapid.IntRange(1, 5).Draw(t, "event")),
				Peer: rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "peer"),
				Msg: Message{
					Kind:  MessageKind(rapid.IntRange(1, 3).Draw(t, "message")),
					Round: rapid.Uint64Range(0, 4).Draw(t, "round"),
					View:  peercore.SetOf(rapid.SliceOfDistinct(rapid.IntRange(0, 3), rapid.ID).Draw(t, "view")...),
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
				if !reflect.DeepEqual(fromA[i], fromB[i]) {
					t.Fatalf("two steps from one state differ: %v and %v", fromA[i], fromB[i])
				}
				if fromA[i].Kind == peercore.Send && (fromA[i].To.Empty() || !fromA[i].To.Within(a.connected)) {
					t.Fatalf("%v goes to somebody who is not connected (%v)", fromA[i], a.connected)
				}
			}
		}
	})
}
