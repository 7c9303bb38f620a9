package explore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/lamport"
	"locklab/locks/peerlock/peercore"
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

// naive is a search without any of what makes the engine fast: every state in full, in
// one map. It knows the engine's moves only.
type naive struct {
	numbers map[string]int
	depths  []int
	waits   []byte
	holds   []byte
	must    []byte  // who must get on
	free    [][]int // states that free moves lead to
}

func naively(s *search[lamport.State, lamport.Message, *lamport.State]) *naive {
	w := s.world
	n := &naive{numbers: map[string]int{}}
	var states [][]*part
	add := func(depth int) int {
		key := ""
		for _, p := range w.next {
			key += fmt.Sprintf("%d:%s|", len(p.bytes), p.bytes)
		}
		at, known := n.numbers[key]
		if !known {
			at = len(states)
			n.numbers[key] = at
			states = append(states, slices.Clone(w.next))
			n.depths, n.waits = append(n.depths, depth), append(n.waits, w.waiting(w.next))
			holds := byte(0)
			for i, p := range w.next[:w.n] {
				if p.holds {
					holds |= 1 << i
				}
			}
			n.holds, n.must, n.free = append(n.holds, holds), append(n.must, w.mustGetOn(w.next)), append(n.free, nil)
		}
		return at
	}
	add(0)
	for at := 0; at < len(states); at++ {
		copy(w.base, states[at])
		for _, m := range w.moves(nil) {
			w.apply(m)
			to := add(n.depths[at] + 1)
			if s.free(m) {
				n.free[at] = append(n.free[at], to)
			}
		}
	}
	return n
}

// stuck is how many peers of how many states never get on, and the depth of the first.
func (n *naive) stuck() (count, nearest int) {
	hopes := slices.Clone(n.holds)
	for changed := true; changed; {
		changed = false
		for at, nexts := range n.free {
			for _, to := range nexts {
				if h := hopes[at] | n.waits[at]&hopes[to]; h != hopes[at] {
					hopes[at], changed = h, true
				}
			}
		}
	}
	nearest = -1
	for at := range hopes {
		if n.must[at]&^hopes[at] != 0 {
			count++
			if nearest < 0 || n.depths[at] < nearest {
				nearest = n.depths[at]
			}
		}
	}
	return count, nearest
}

// TestAgainstNaive compares states, depth and stuck states with those of the naive
// search, for locks that are right and wrong, with faults and without.
func TestAgainstNaive(t *testing.T) {
	scopes := []Scope{
		{Peers: 2, Requests: []int{2}},
		{Peers: 3, Requests: []int{1}, GiveUps: 1},
		{Peers: 3, Requests: []int{Any}},
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
					return newSearch(newWorld[lamport.State, lamport.Message](lockWith(fault), sc, false), nil)
				}
				n, s := naively(make()), make()
				s.goesOn = true
				s.run(t.Context())
				if len(s.states) != len(n.depths) || s.result.Depth != slices.Max(n.depths) {
					t.Errorf("fault %d, %v: %d states and depth %d, want %d and %d", fault, sc, len(s.states), s.result.Depth, len(n.depths), slices.Max(n.depths))
				}
				s.findStuck(t.Context())
				count, nearest := n.stuck()
				got, depth := s.countPending()
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

// countPending counts the states in which a peer never gets on, and the depth of the nearest.
func (s *search[S, M, P]) countPending() (count, nearest int) {
	nearest = -1
	for at, record := range s.records(0, s.end()) {
		if record[recordPending] != 0 {
			if count++; nearest < 0 {
				nearest = len(s.levels) - 1
				for s.levels[nearest] > at {
					nearest--
				}
			}
		}
	}
	return count, nearest
}

// TestBounds: a search ends where it was told to, without a verdict.
func TestBounds(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	big := Scope{Peers: 3, Requests: []int{3}, GiveUps: 3}
	states := big
	states.StatesMax = 1000
	for want, sc := range map[Ending]Scope{StatesBound: states, Interrupted: big} {
		ctx := t.Context()
		if want == Interrupted {
			ctx = cancelled
		}
		r := Of(lockWith(right), nil).Explore(ctx, sc, nil)
		if r.Ended != want || r.Violation != "" || r.StuckChecked || r.States == 0 || sc.StatesMax > 0 && r.States != sc.StatesMax {
			t.Errorf("want %v, got %+v", want, r)
		}
	}
}

// TestRenumbering: order, zero, and gaps up to the widest above the floor stay.
func TestRenumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := renumbering{make([][]uint64, 1), make([][]uint64, 1)}
		numbers := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 300), 1, 12, rapid.ID).Draw(t, "numbers")
		slices.Sort(numbers)
		r.from[0] = numbers
		gap := rapid.Uint64Range(1, 20).Draw(t, "gap")
		floor := rapid.SampledFrom(numbers).Draw(t, "floor")
		_, shortened := r.fill(0, gap, floor)
		last, made, wide := uint64(0), uint64(0), false
		for _, x := range numbers {
			y := r.value(0, x)
			want := min(x-last, gap)
			if x <= floor {
				want = min(x-last, 1)
			} else {
				wide = wide || x-last > gap
			}
			if y-made != want {
				t.Fatalf("%d became %d after %d became %d, gap %d, floor %d", x, y, last, made, gap, floor)
			}
			last, made = x, y
		}
		if wide != shortened {
			t.Fatalf("shortened is %v, want %v", shortened, wide)
		}
	})
}
