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
// faults.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peertest.Walk[State, Message, *State](t, Algorithm(), drawScope(t), nil)
	})
}

// TestNoTokenTwice: where votes end too early two may hold, but no token is given twice,
// so a resource that checks tokens can tell them apart.
func TestNoTokenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := map[uint64]bool{}
		w := explore.NewWalk[State, Message](Algorithm(), explore.Scope{Peers: 3, Requests: []int{3}, Untimed: true}, func(_ int, e Effect) {
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
