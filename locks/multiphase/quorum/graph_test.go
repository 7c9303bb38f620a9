package quorum

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// verdict of an exploration. A violation comes with the shortest way to it.
type verdict struct {
	states    int
	violation string
	trace     []string
}

func (v verdict) String() string {
	if v.violation == "" {
		return fmt.Sprintf("%d states, nothing violated", v.states)
	}
	return fmt.Sprintf("%s, %d states seen:\n  %s", v.violation, v.states, strings.Join(v.trace, "\n  "))
}

// graph is what an exploration remembers of the worlds that it has seen.
type graph struct {
	numbers map[[2]uint64]int32 // by two hashes of the encoding
	parents []int32
	moves   []uint8  // which of the parent's successors each is
	waits   []uint64 // the peers that wait, one bit for each
	holds   []uint64
	edges   [][2]int32 // from, to
}

// statesMax ends an exploration that grows too large.
const statesMax = 1_000_000

// search visits every reachable world, nearest first. It looks for two holders, for
// tokens that do not grow, and for a waiting peer to which no continuation at all gives
// the lock.
func search(sc scope) verdict {
	type reached struct {
		at    int32
		world *world
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	g := graph{numbers: map[[2]uint64]int32{}}
	var buf []byte
	var level, later []reached
	add := func(parent int32, move int, w *world) bool {
		buf = w.encode(buf[:0])
		key := [2]uint64{maphash.Bytes(seeds[0], buf), maphash.Bytes(seeds[1], buf)}
		at, known := g.numbers[key]
		if !known || w.wrong != "" {
			at = int32(len(g.parents))
			g.numbers[key] = at
			g.parents = append(g.parents, parent)
			g.moves = append(g.moves, uint8(move))
			waits, holds := uint64(0), uint64(0)
			for i := range w.peers {
				if w.waits(i) {
					waits |= 1 << i
				}
				if w.holds(i) {
					holds |= 1 << i
				}
			}
			g.waits, g.holds = append(g.waits, waits), append(g.holds, holds)
			later = append(later, reached{at, w})
		}
		if parent != at {
			g.edges = append(g.edges, [2]int32{parent, at})
		}
		return w.wrong == ""
	}
	add(0, 0, newWorld(&sc))
	for len(later) > 0 {
		level, later = later, nil
		for _, r := range level {
			for i, m := range r.world.successors(false) {
				if !add(r.at, i, m.world) {
					return g.verdict(&sc, m.world.wrong, int32(len(g.parents)-1))
				}
			}
			if len(g.parents) > statesMax {
				return g.verdict(&sc, tooLarge, r.at)
			}
		}
	}
	if at, found := g.stuck(sc.peers); found && sc.clock == nil { // clocks stop
		return g.verdict(&sc, stuck, at)
	}
	return verdict{states: len(g.parents)}
}

// verdict goes the way to the state at again, to tell it.
func (g *graph) verdict(sc *scope, violation string, at int32) verdict {
	v := verdict{states: len(g.parents), violation: violation}
	var moves []uint8
	for ; at > 0; at = g.parents[at] {
		moves = append(moves, g.moves[at])
	}
	w := newWorld(sc)
	for _, move := range slices.Backward(moves) {
		m := w.successors(true)[move]
		v.trace = append(v.trace, m.name)
		w = m.world
	}
	return v
}

// stuck finds the nearest world in which a peer waits from which no way leads to one
// in which it holds.
func (g *graph) stuck(peers int) (at int32, found bool) {
	from := make([][]int32, len(g.parents)) // the worlds that lead to each
	for _, e := range g.edges {
		from[e[1]] = append(from[e[1]], e[0])
	}
	hopes := make([]uint64, len(g.parents)) // the peers that can still get the lock
	for p := range peers {
		bit := uint64(1) << p
		var todo []int32
		for i, h := range g.holds {
			if h&bit != 0 {
				hopes[i] |= bit
				todo = append(todo, int32(i))
			}
		}
		for len(todo) > 0 {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, f := range from[i] {
				if hopes[f]&bit == 0 {
					hopes[f] |= bit
					todo = append(todo, f)
				}
			}
		}
	}
	for i := range hopes {
		if g.waits[i]&^hopes[i] != 0 {
			return int32(i), true
		}
	}
	return 0, false
}
