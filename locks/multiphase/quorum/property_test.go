package quorum

import (
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// drawScope draws the bounds of a walk, with all kinds of faults or none.
func drawScope(t *rapid.T) explore.Scope {
	sc := peertest.DrawScope(t)
	sc.Expiries = rapid.IntRange(0, 5).Draw(t, "expiries")
	if sc.Crashes > 0 {
		sc.Crashes = rapid.IntRange(1, 3).Draw(t, "crashing")
	}
	return sc
}

// TestWalk walks at random through worlds too large to explore, with all kinds of
// faults, but with fewer than a majority recovering at once, or all.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alg := whole(Options{View: rapid.IntRange(0, 4).Draw(t, "view") == 0})
		sc := drawScope(t)
		type walk = explore.Walk[State, Message, *State]
		peertest.Walk(t, alg, sc, func(w *walk, m explore.Move) bool {
			if m.Kind != explore.Crash {
				return true
			}
			recovering := 0
			for i := range sc.Peers {
				if i == int(m.Peer) || w.Peer(i).recovering {
					recovering++
				}
			}
			return recovering <= sc.Peers/2
		})
	})
}

// TestNoTokenTwice: where votes end too early two may hold, but no token is given twice,
// so a resource that checks tokens can tell them apart.
func TestNoTokenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := map[uint64]bool{}
		w := explore.NewWalk[State, Message](whole(Options{}), explore.Scope{Peers: 3, Requests: []int{3}, Untimed: true}, func(_ int, e Effect) {
			if e.Kind == peercore.Hold && given[e.Token] {
				t.Fatalf("token %d is given twice", e.Token)
			}
			given[e.Token] = given[e.Token] || e.Kind == peercore.Hold
		})
		for moves := w.Moves(); len(moves) > 0; moves = w.Moves() {
			w.Take(rapid.SampledFrom(moves).Draw(t, "move"))
		}
	})
}
