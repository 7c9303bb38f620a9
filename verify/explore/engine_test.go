package explore

import (
	"slices"
	"testing"

	"locklab/locks/lamport"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// flaw is one that a lock can have, for the engine to find.
type flaw int

const (
	right     flaw = iota
	greedy         // a holder answers
	forgetful      // whoever gives up forgets whom it deferred
	silent         // a new connection does not hear of the request
)

// lockWith is Ricart and Agrawala's lock with a flaw.
func lockWith(f flaw) peercore.Algorithm[lamport.State, lamport.Message] {
	alg := lamport.Options{Defer: true}.Algorithm()
	alg.Mutant.Step = func(s *lamport.State, ev lamport.Event) []lamport.Effect {
		gaveUp := ev.Kind == peercore.Leave && s.Waits()
		out := s.Step(ev, nil)
		switch {
		case f == greedy && ev.Kind == peercore.Receive && ev.Msg.Kind == lamport.Request && s.Holds():
			out = append(out, lamport.Effect{
				Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: lamport.Message{Kind: lamport.Reply, At: ev.Msg.At},
			})
		case f == forgetful && gaveUp, f == silent && ev.Kind == peercore.Connect:
			out = nil
		}
		return out
	}
	if f == right {
		alg.Mutant.Step = nil
	}
	return alg
}

// naive is a search without any of what makes the engine fast: every state in full, in one map. It gives the
// depth of every state, and how many have a peer that must get on and never does, with the depth of the first.
func naive(s *search[lamport.State, lamport.Message, *lamport.State]) (depths []int, stuck, nearest int) {
	var states []string
	var waits, hopes, must []byte // one bit for each peer; those with hopes get on
	var free [][]int              // states that free moves lead to
	numbers := map[string]int{}
	add := func(depth int) int {
		code := string(s.encode(nil))
		at, known := numbers[code]
		if !known {
			at = len(states)
			numbers[code] = at
			states, depths, free = append(states, code), append(depths, depth), append(free, nil)
			waits, must = append(waits, s.which((*peers.Peer[lamport.State]).Waits)), append(must, s.mustGetOn())
			hopes = append(hopes, s.which((*peers.Peer[lamport.State]).Holds))
		}
		return at
	}
	add(0)
	for at := 0; at < len(states); at++ {
		s.decode([]byte(states[at]))
		for _, m := range s.moves(nil) {
			s.decode([]byte(states[at]))
			s.apply(m)
			if to := add(depths[at] + 1); s.isFree(m) {
				free[at] = append(free[at], to)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for at, nexts := range free {
			for _, to := range nexts {
				if h := hopes[at] | waits[at]&hopes[to]; h != hopes[at] {
					hopes[at], changed = h, true
				}
			}
		}
	}
	nearest = -1
	for at := range states {
		if must[at]&^hopes[at] != 0 {
			if stuck++; nearest < 0 {
				nearest = depths[at]
			}
		}
	}
	return depths, stuck, nearest
}

// TestAgainstNaive compares states, depth and stuck states with those of the naive
// search, for locks that are right and wrong, with faults and without.
func TestAgainstNaive(t *testing.T) {
	scopes := []Scope{
		{Peers: 2, Requests: []int{2}},
		{Peers: 3, Requests: []int{1}, GiveUps: 1},
		{Peers: 3, Requests: []int{2, 1, 0}},
		{Peers: 2, Requests: []int{2}, Cuts: 1, Mends: 1},
		{Peers: 2, Requests: []int{1}, Crashes: 1, Mends: Any},
		{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1},
		{Peers: 2, Requests: []int{1}, Forming: true, Mends: 1, GiveUps: Any},
		{Peers: 3, Requests: []int{1, 1, 0}, Reorder: true, GiveUps: 1},
	}
	stuckSeen := 0
	for _, fault := range []flaw{right, forgetful, silent} {
		for _, sc := range scopes {
			for _, where := range []StuckCheck{StuckHealed, StuckAnywhere} {
				sc.Stuck = where
				make := func() *search[lamport.State, lamport.Message, *lamport.State] {
					return newSearch(newWorld[lamport.State, lamport.Message](lockWith(fault), sc))
				}
				s := make()
				s.goesOn = true
				s.run(t.Context())
				s.findStuck(t.Context())
				depths, count, nearest := naive(make())
				if len(s.seen) != len(depths) || s.result.Depth != slices.Max(depths) {
					t.Errorf("fault %d, %v: %d states and depth %d, want %d and %d", fault, sc, len(s.seen), s.result.Depth, len(depths), slices.Max(depths))
				}
				got, depth := 0, -1
				for at, r := range s.seen {
					if r.pending == 0 {
						continue
					}
					if got++; depth < 0 {
						depth = depths[at] // both number states alike
					}
				}
				if got != count || depth != nearest {
					t.Errorf("fault %d, %v, check %d: %d stuck states from depth %d, want %d from %d", fault, sc, where, got, depth, count, nearest)
				}
				stuckSeen += count
			}
		}
	}
	if stuckSeen == 0 {
		t.Error("no state was stuck: nothing was compared")
	}
}
