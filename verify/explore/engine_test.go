package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
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

func naively(t *testing.T, w *world[lamport.State, lamport.Message, *lamport.State]) *naive {
	t.Helper()
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
			holds, must := byte(0), byte(0)
			for i, p := range w.next[:w.n] {
				if p.holds {
					holds |= 1 << i
				}
			}
			if w.mustGetOn(w.next) {
				must = w.waiting(w.next)
			}
			n.holds, n.must, n.free = append(n.holds, holds), append(n.must, must), append(n.free, nil)
		}
		return at
	}
	w.first()
	w.renumber()
	add(0)
	for at := 0; at < len(states); at++ {
		copy(w.base, states[at])
		for _, m := range w.moves(nil) {
			w.apply(m)
			to := add(n.depths[at] + 1)
			if m.free(w.scope.Stuck == StuckAnywhere) {
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
		{Peers: 2, Rounds: 2},
		{Peers: 3, Rounds: 1, GiveUps: 1},
		{Peers: 3, Rounds: Any},
		{Peers: 2, Rounds: 2, Cuts: 1, Mends: 1},
		{Peers: 2, Rounds: 1, Crashes: 1, Mends: Any},
		{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 1},
		{Peers: 2, Rounds: 1, Forming: true, Mends: 1, GiveUps: Any},
		{Peers: 3, Requests: []int{1, 1, 0}, Reorder: true, GiveUps: 1},
	}
	stuckSeen := 0
	for _, fault := range []flaw{right, forgetful, silent} {
		for _, sc := range scopes {
			for _, where := range []StuckCheck{StuckHealed, StuckAnywhere} {
				sc.Stuck = where
				filled, err := sc.withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				n := naively(t, newWorld[lamport.State, lamport.Message](lockWith(fault), filled))
				s := newSearch(newWorld[lamport.State, lamport.Message](lockWith(fault), filled), false, nil)
				s.ends = false // go on after violations, to see all there is
				s.first()
				s.run(t.Context())
				if s.result.States != int64(len(n.depths)) || s.result.Depth != slices.Max(n.depths) {
					t.Errorf("fault %d, %v: %d states and depth %d, want %d and %d", fault, sc, s.result.States, s.result.Depth, len(n.depths), slices.Max(n.depths))
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

// countPending counts the states in which somebody never gets on, and the depth of the
// nearest.
func (s *search[S, M, P]) countPending() (count, nearest int) {
	nearest = -1
	for depth := range s.levels[1:] {
		for _, record := range s.level(depth) {
			if record[placeBytes] != 0 {
				count++
				if nearest < 0 {
					nearest = depth
				}
			}
		}
	}
	return count, nearest
}

// TestDeepAgrees: a deep search sees as many states as an exact one, finds the same
// violations, and its traces are as short, also those longer than the levels between
// two that it keeps.
func TestDeepAgrees(t *testing.T) {
	longest := 0
	for _, fault := range []flaw{right, greedy, forgetful} {
		for _, sc := range []Scope{
			{Peers: 3, Rounds: 2},
			{Peers: 2, Rounds: 3, GiveUps: 2},
			{Peers: 2, Rounds: 2, Cuts: 1, Mends: 1},
			{Peers: 3, Rounds: 3, Bypass: 3},
			{Peers: 2, Rounds: 9, Bypass: 6},
		} {
			var results []*Result
			for _, deep := range []bool{false, true} {
				sc.Deep = deep
				r, err := Of(lockWith(fault), nil).Explore(t.Context(), sc, nil)
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, r)
			}
			exact, deep := results[0], results[1]
			if exact.Violation == Stuck && deep.Violation == "" { // only dead ends are seen
				continue
			}
			if exact.Violation != deep.Violation || exact.States != deep.States || exact.Transitions != deep.Transitions {
				t.Errorf("fault %d, %v: exact %v %d, deep %v %d", fault, sc, exact.Violation, exact.States, deep.Violation, deep.States)
			}
			if exact.Trace != nil {
				longest = max(longest, len(exact.Trace.Steps))
			}
			if exact.Trace != nil && len(exact.Trace.Steps) != len(deep.Trace.Steps) {
				t.Errorf("fault %d, %v: traces of %d and %d moves", fault, sc, len(exact.Trace.Steps), len(deep.Trace.Steps))
			}
			if exact.Missed() != 0 || deep.Missed() <= 0 || deep.Missed() > 1e-9 {
				t.Errorf("the probability of a missed state is %g and %g", exact.Missed(), deep.Missed())
			}
		}
	}
	if longest <= deepKept {
		t.Errorf("the longest trace has %d moves: none had to be found again across the levels that are kept, every %d", longest, deepKept)
	}
}

// TestBounds: a search ends where it was told to, without a verdict.
func TestBounds(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	big := Scope{Peers: 3, Rounds: 3, GiveUps: 3}
	states, memory := big, big
	states.StatesMax, memory.MemoryMax = 1000, 1<<20
	ends := func(ctx context.Context, sc Scope, want Ending) *Result {
		r, err := Of(lockWith(right), nil).Explore(ctx, sc, nil)
		if err != nil || r.Ended != want || r.Violation != "" || r.StuckChecked || r.States == 0 {
			t.Errorf("want %v, got %+v, %v", want, r, err)
		}
		return r
	}
	if r := ends(t.Context(), states, StatesBound); r.States != states.StatesMax {
		t.Errorf("ended after %d states, want %d", r.States, states.StatesMax)
	}
	ends(t.Context(), memory, MemoryBound)
	ends(cancelled, big, Interrupted)
	for _, sc := range []Scope{
		{Peers: 1},
		{Peers: 9},
		{Peers: 2, Rounds: -2},
		{Peers: 2, Requests: []int{1}},
		{Peers: 2, Cuts: 251},
		{Peers: 2, Links: [][2]int{{0, 2}}},
		{Peers: 2, Links: [][2]int{{1, 1}}},
		{Peers: 2, Crashed: []int{2}},
		{Peers: 2, StatesMax: -1},
	} {
		if _, err := Of(lockWith(right), nil).Explore(t.Context(), sc, nil); err == nil {
			t.Errorf("%+v makes no sense, and that is not said", sc)
		}
	}
}

// TestStore compares a store with a map while it grows, and with the order in which
// states were added.
func TestStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(layout{n: 2}, rapid.Bool().Draw(t, "deep")) // five parts
		rand := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		want := map[string]place{}
		var order []string
		for range rapid.IntRange(1, 5000).Draw(t, "states") {
			packed := []byte{byte(rand.IntN(40)), byte(rand.IntN(40)), 3, 0x80, 1, byte(rand.IntN(2))}
			at, added := s.add(77, packed)
			if _, known := want[string(packed)]; known == added {
				t.Fatalf("%x was added: %v", packed, added)
			}
			if added {
				want[string(packed)], order = at, append(order, string(packed))
			}
			if entry, known := s.find(s.hash(packed), packed); !known || (!s.deep && placeOf(*entry) != want[string(packed)]) {
				t.Fatalf("%x is known: %v, at %d, want %d", packed, known, placeOf(*entry), want[string(packed)])
			}
		}
		if s.count != int64(len(want)) {
			t.Fatalf("%d states, want %d", s.count, len(want))
		}
		for at, r := range s.records(0, s.end()) {
			if want[order[0]] != at || readPlace(r) != 77 || r[placeBytes] != 0 || string(r[recordHead:]) != order[0] {
				t.Fatalf("at %d is %x, want %x at %d", at, r, order[0], want[order[0]])
			}
			order = order[1:]
		}
		if len(order) > 0 {
			t.Fatalf("%d records are missing", len(order))
		}
	})
}

// TestRenumbering: order, zero, and gaps up to the widest above the floor stay.
func TestRenumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRenumbering(1)
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

// TestNoGarbage: making moves does not allocate, once the parts of the states are known.
func TestNoGarbage(t *testing.T) {
	sc, err := Scope{Peers: 3, Rounds: 2}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld[lamport.State, lamport.Message](lockWith(right), sc)
	w.first()
	begin := slices.Clone(w.next)
	walk := func() {
		copy(w.next, begin)
		for range 200 {
			copy(w.base, w.next)
			if w.list = w.moves(w.list[:0]); len(w.list) == 0 {
				return
			}
			for _, m := range w.list {
				w.apply(m)
			}
			w.packed = pack(w.packed[:0], w.next)
		}
	}
	walk()
	if n := testing.AllocsPerRun(5, walk); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
