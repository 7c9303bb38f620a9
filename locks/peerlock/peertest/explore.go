package peertest

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// What an exploration can find.
const (
	TwoHold  = "two peers hold the lock"
	Stuck    = "somebody waits and can never get the lock any more"
	TooLarge = "more states than allowed"
)

// Verdict of an exploration. A violation comes with the shortest way to it.
type Verdict struct {
	States    int
	Violation string // "" if there is none
	Trace     []string
}

func (v Verdict) String() string {
	if v.Violation == "" {
		return fmt.Sprintf("%d states, nothing violated", v.States)
	}
	return fmt.Sprintf("%s, %d states seen:\n  %s", v.Violation, v.States, strings.Join(v.Trace, "\n  "))
}

// graph is what an exploration remembers of the worlds that it has seen.
type graph struct {
	numbers map[[2]uint64]int32 // by two hashes of the encoding
	parents []int32
	names   []string // of the move from the parent
	waits   []uint64 // the peers that wait, one bit for each
	holds   []uint64
	edges   [][2]int32 // from, to
}

// Explore visits every reachable world, nearest first. It looks for two holders, and
// for a waiting peer to which no continuation at all gives the lock.
func Explore[S, M any, P Core[S, M]](sc Scope[S, M]) Verdict {
	type reached struct {
		at    int32
		world *World[S, M, P]
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	g := graph{numbers: map[[2]uint64]int32{}}
	var buf []byte
	var next []reached
	add := func(parent int32, name string, w *World[S, M, P]) (violation string) {
		buf = w.encode(buf[:0])
		key := [2]uint64{maphash.Bytes(seeds[0], buf), maphash.Bytes(seeds[1], buf)}
		at, known := g.numbers[key]
		if !known {
			at = int32(len(g.parents))
			g.numbers[key] = at
			g.parents = append(g.parents, parent)
			g.names = append(g.names, name)
			waits, holds := uint64(0), uint64(0)
			for i := range w.peers {
				if w.Peer(i).Waits() {
					waits |= 1 << i
				}
				if w.Peer(i).Holds() {
					holds |= 1 << i
				}
			}
			g.waits, g.holds = append(g.waits, waits), append(g.holds, holds)
			next = append(next, reached{at, w})
		}
		if parent != at {
			g.edges = append(g.edges, [2]int32{parent, at})
		}
		switch {
		case w.TwoHold():
			return TwoHold
		case sc.StatesMax > 0 && len(g.parents) > sc.StatesMax:
			return TooLarge
		}
		return ""
	}
	add(0, "", NewWorld[S, M, P](&sc))
	for len(next) > 0 {
		level := next
		next = nil
		for _, r := range level {
			for _, m := range r.world.Moves() {
				if violation := add(r.at, m.Name, m.Next); violation != "" {
					return g.verdict(violation, int32(len(g.parents)-1))
				}
			}
		}
	}
	if at, stuck := g.stuck(sc.Peers); stuck {
		return g.verdict(Stuck, at)
	}
	return Verdict{States: len(g.parents)}
}

func (g *graph) verdict(violation string, at int32) Verdict {
	v := Verdict{States: len(g.parents), Violation: violation}
	for ; at > 0; at = g.parents[at] {
		v.Trace = append(v.Trace, g.names[at])
	}
	slices.Reverse(v.Trace)
	return v
}

// stuck finds the nearest world in which a peer waits from which no way leads to one
// in which it holds.
func (g *graph) stuck(peers int) (at int32, found bool) {
	slices.SortFunc(g.edges, func(a, b [2]int32) int { return int(a[1]) - int(b[1]) })
	first := make([]int32, len(g.parents)+1) // index of the first edge to each world
	for e, edge := range slices.Backward(g.edges) {
		first[edge[1]] = int32(e)
	}
	first[len(g.parents)] = int32(len(g.edges))
	for i := len(g.parents) - 1; i >= 0; i-- {
		if e := first[i]; int(e) >= len(g.edges) || g.edges[e][1] != int32(i) {
			first[i] = first[i+1] // nothing leads to it
		}
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
			for _, edge := range g.edges[first[i]:first[i+1]] {
				if from := edge[0]; hopes[from]&bit == 0 {
					hopes[from] |= bit
					todo = append(todo, from)
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
