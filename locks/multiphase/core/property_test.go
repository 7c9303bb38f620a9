package core

import (
	"testing"

	"pgregory.net/rapid"

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
			sc.Cuts = rapid.IntRange(1, 4).Draw(t, "cuts")
			sc.Mends = sc.Cuts
		}
		type walk = explore.Walk[State, Message, *State]
		peertest.Walk(t, DefaultOptions().Algorithm(), sc, func(w *walk, m explore.Move) bool {
			return m.Kind != explore.Cut || w.Healed()
		})
	})
}
