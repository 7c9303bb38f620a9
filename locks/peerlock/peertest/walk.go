package peertest

import "pgregory.net/rapid"

// Walk takes random moves until none is left, and fails if two peers hold, if
// somebody waits in the end, or if a peer still remembers something then. Moves that
// allowed refuses are not taken; it may be nil.
func Walk[S, M any, P Core[S, M]](t *rapid.T, sc Scope[S, M], allowed func(w *World[S, M, P]) bool) {
	const longest = 2000 // of algorithms that try again and again
	w := NewWorld[S, M, P](&sc)
	for range longest {
		moves := w.Moves()
		if allowed != nil {
			kept := moves[:0]
			for _, m := range moves {
				if allowed(m.Next) {
					kept = append(kept, m)
				}
			}
			moves = kept
		}
		if len(moves) == 0 {
			break
		}
		m := moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]
		t.Log(m.Name)
		if w = m.Next; w.TwoHold() {
			t.Fatal(TwoHold)
		}
	}
	if len(w.Moves()) > 0 {
		return
	}
	if w.SomebodyWaits() {
		t.Fatal(Stuck)
	}
	if !w.Idle() {
		t.Fatal("all is over and a peer still remembers something")
	}
}

// DrawScope draws the bounds of a walk: three to five peers, with faults or without.
// Every cut link comes back.
func DrawScope[S, M any](t *rapid.T) Scope[S, M] {
	n := rapid.IntRange(2, 5).Draw(t, "peers")
	sc := Scope[S, M]{Peers: n, Requests: make([]int, n), GiveUps: rapid.IntRange(0, 10).Draw(t, "giveUps")}
	for i := range sc.Requests {
		sc.Requests[i] = rapid.IntRange(0, 5).Draw(t, "requests")
	}
	if rapid.Bool().Draw(t, "faults") {
		for range rapid.IntRange(1, 4).Draw(t, "cuts") {
			i := rapid.IntRange(1, n-1).Draw(t, "i")
			sc.Cuts = append(sc.Cuts, [2]int{rapid.IntRange(0, i-1).Draw(t, "j"), i})
		}
		if rapid.Bool().Draw(t, "crash") {
			sc.Crashes = []int{rapid.IntRange(0, n-1).Draw(t, "crashes")}
		}
		sc.Mends = len(sc.Cuts) + n*len(sc.Crashes)
	}
	return sc
}
