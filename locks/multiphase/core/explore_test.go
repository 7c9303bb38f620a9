package core_test

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"locklab/locks/multiphase/core"
)

// scope bounds an exhaustive exploration: every interleaving of what the peers may
// do, of deliveries, and of faults at any moment, is visited once.
type scope struct {
	peers    int
	requests []int // how often each peer asks for the lock
	giveUps  int   // how often anybody gives up while waiting
	cuts     [][2]int
	mends    int // how often a cut link comes back
	crashes  []int
	forming  bool // start with no connection, in place of all
	passes   int  // check that a waiting peer is passed at most so often; 0 does not
	deadEnds bool // dead ends are no violation
	options  core.Options
}

// What an exploration can find.
const (
	twoHold = "two peers hold the lock"
	deadEnd = "somebody waits for ever"
	starves = "a waiting peer is passed too often"
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
	return fmt.Sprintf("%s after %d states:\n  %s", v.violation, v.states, strings.Join(v.trace, "\n  "))
}

// explore visits every reachable world, nearest first, and looks for two holders
// and for a dead end in which somebody waits.
func explore(sc scope) verdict {
	type origin struct {
		parent int
		name   string
	}
	type reached struct {
		at    int
		world *world
	}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	seen := map[[2]uint64]struct{}{}
	var origins []origin
	var buf []byte
	var v verdict

	fail := func(at int, what string) {
		v.violation = what
		for ; at > 0; at = origins[at].parent {
			v.trace = append(v.trace, origins[at].name)
		}
		slices.Reverse(v.trace)
	}
	var level, next []reached
	add := func(parent int, name string, w *world) {
		buf = w.encode(buf[:0])
		key := [2]uint64{maphash.Bytes(seeds[0], buf), maphash.Bytes(seeds[1], buf)}
		if _, known := seen[key]; known || v.violation != "" {
			return
		}
		seen[key] = struct{}{}
		origins = append(origins, origin{parent, name})
		next = append(next, reached{len(origins) - 1, w})
		if what := w.unsafe(&sc); what != "" {
			fail(len(origins)-1, what)
		}
	}
	add(0, "", newWorld(&sc))
	for len(next) > 0 && v.violation == "" {
		level, next = next, nil
		for _, r := range level {
			moves := 0
			r.world.successors(&sc, func(name string, w *world) {
				moves++
				add(r.at, name, w)
			})
			if moves == 0 && !sc.deadEnds && r.world.someoneWaits() && v.violation == "" {
				fail(r.at, deadEnd)
			}
		}
	}
	v.states = len(origins)
	return v
}

func without(change func(*core.Options)) core.Options {
	o := core.DefaultOptions()
	change(&o)
	return o
}

// TestExplore is the case for every rule: with all of them nothing is violated
// within the bounds, and each one that is dropped is missed.
func TestExplore(t *testing.T) {
	all := core.DefaultOptions()
	literal := without(func(o *core.Options) { o.Rule = core.RuleLiteral; o.Fair = false })
	noRounds := without(func(o *core.Options) { o.Rounds = false })
	noView := without(func(o *core.Options) { o.View = false })
	noFair := without(func(o *core.Options) { o.Fair = false })
	tests := []struct {
		name string
		want string
		sc   scope
	}{
		{"no fault", "", scope{peers: 3, requests: []int{2, 2, 1}, options: all}},
		{"no fault, two peers", "", scope{peers: 2, requests: []int{3, 3}, giveUps: 3, options: all}},
		{"giving up at any moment", "", scope{peers: 3, requests: []int{2, 1, 1}, giveUps: 1, options: all}},
		{"giving up, without the debt rule", "", scope{peers: 3, requests: []int{1, 1, 2}, giveUps: 1, options: noFair}},
		{"a link is cut and mended", "", scope{peers: 3, requests: []int{1, 1, 1}, cuts: [][2]int{{0, 1}}, mends: 1, options: all}},
		{"a lower link is cut and mended", "", scope{peers: 3, requests: []int{1, 1, 0}, giveUps: 1, cuts: [][2]int{{1, 2}}, mends: 1, options: all}},
		{"a peer crashes and returns", "", scope{peers: 3, requests: []int{1, 1, 0}, crashes: []int{0}, mends: 2, options: all}},
		{"the mesh forms", "", scope{peers: 3, requests: []int{1, 1, 0}, forming: true, mends: 3, options: all}},
		{"a waiting peer is passed at most 2(N-1) times", "", scope{peers: 3, requests: []int{1, 3, 2}, passes: 4, options: all}},

		{"the literal rule", twoHold, scope{peers: 3, requests: []int{2, 1, 1}, options: literal}},
		{"without rounds, two peers", twoHold, scope{peers: 2, requests: []int{2, 2}, giveUps: 2, options: noRounds}},
		{"without rounds, a link is cut", twoHold, scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 1}}, mends: 1, options: noRounds}},
		{"without the view rule", twoHold, scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 1}}, options: noView}},
		{"without the debt rule", starves, scope{peers: 3, requests: []int{1, 3, 2}, passes: 4, options: noFair}},

		// What no rule closes.
		{"inherent: two peers, cut", twoHold, scope{peers: 2, requests: []int{1, 1}, cuts: [][2]int{{0, 1}}, options: all}},
		{"inherent: four peers, only pairs connected so far", twoHold, scope{
			peers: 4, requests: []int{1, 0, 1, 0}, forming: true, mends: 2, deadEnds: true, options: all,
		}},
		{"inherent: a link stays cut, its ends wait", deadEnd, scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 1}}, options: all}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := explore(tt.sc)
			if v.violation != tt.want {
				t.Errorf("want %q, got %v", tt.want, v)
			}
			t.Log(v)
		})
	}
}
