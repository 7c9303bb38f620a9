package peertest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
)

// Walk takes random moves until none is left, and fails if something is violated, if
// somebody waits in the end, or if a peer still remembers something then. Moves that
// allowed refuses are not taken; it may be nil.
func Walk[S, M any, P peercore.Core[S, M]](
	t *rapid.T, alg peercore.Algorithm[S, M], sc explore.Scope,
	allowed func(w *explore.Walk[S, M, P], m explore.Move) bool,
) {
	const longest = 2000 // of algorithms that try again and again
	w := explore.NewWalk[S, M, P](alg, sc, nil)
	for range longest {
		var moves []explore.Move
		for _, m := range w.Moves() {
			if allowed == nil || allowed(w, m) {
				moves = append(moves, m)
			}
		}
		if len(moves) == 0 {
			if w.Waits() {
				t.Fatal(explore.Stuck)
			}
			if !w.Idle() {
				t.Fatal("all is over and a peer still remembers something")
			}
			return
		}
		m := moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]
		t.Log(w.Text(m))
		w.Take(m)
		if v := w.Violation(); v != "" {
			t.Fatal(v)
		}
	}
}

// Follow goes the way, move by move as [explore.Walk] names them, and gives what is
// violated at its end. What is not possible is left out: what is right often makes
// impossible what a mutant does.
func Follow[S, M any, P peercore.Core[S, M]](
	t *testing.T, alg peercore.Algorithm[S, M], sc explore.Scope, way []string,
) (violation string) {
	t.Helper()
	w := explore.NewWalk[S, M, P](alg, sc, nil)
	for _, text := range way {
		if v := w.Violation(); v != "" {
			t.Fatalf("before %q: %s", text, v)
		}
		moves := w.Moves()
		at := slices.IndexFunc(moves, func(m explore.Move) bool { return w.Text(m) == text })
		if at >= 0 {
			w.Take(moves[at])
		}
	}
	return w.Violation()
}

// DrawScope draws the bounds of a walk: two to five peers, with faults or without.
// Every cut link comes back.
func DrawScope(t *rapid.T) explore.Scope {
	n := rapid.IntRange(2, 5).Draw(t, "peers")
	sc := explore.Scope{Peers: n, Requests: make([]int, n), GiveUps: rapid.IntRange(0, 10).Draw(t, "giveUps")}
	for i := range sc.Requests {
		sc.Requests[i] = rapid.IntRange(0, 5).Draw(t, "requests")
	}
	if rapid.Bool().Draw(t, "faults") {
		sc.Cuts, sc.Crashes = rapid.IntRange(1, 4).Draw(t, "cuts"), rapid.IntRange(0, 1).Draw(t, "crashes")
		sc.Mends = explore.Any
	}
	return sc
}
