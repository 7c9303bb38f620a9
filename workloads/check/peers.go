package check

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// Peer is how one peer fared in the mutex workload: a master, with all of its
// clients. A wait lasts from asking to holding. One that ended without the lock
// counts with its length, and one that was open when the measured part ended with
// its length so far: to leave out those who were never served would make a lock
// look fair.
type Peer struct {
	Node     string
	Acquires int64 // grants in the measured part
	GaveUp   int64 // waits of the measured part that ended without the lock
	Wait     Dist

	// Bypasses are the grants of the resource to other peers while one waited, added
	// up over all waits; BypassMax is the most in one wait.
	Bypasses  int64
	BypassMax int64 `merge:"max"`
	// InARowMax is the most grants to others without one to this peer in between,
	// while one waited, of the rows that ended in the measured part. Unlike BypassMax
	// it does not grow with the number of the peer's own clients in front, and so is
	// what an algorithm's bound is about.
	InARowMax int64 `merge:"max"`
}

// BypassMean is the bypasses of an average wait.
func (p *Peer) BypassMean() float64 { return ratio(float64(p.Bypasses), float64(p.Wait.Count())) }

// mergeNamed adds up the repeats of each node, sorted by name.
func mergeNamed[T any](repeats []*Findings, of func(*Findings) []T, name func(*T) *string) []T {
	var merged []T
	for _, f := range repeats {
		all := of(f)
		for i := range all {
			o := &all[i]
			at, known := slices.BinarySearchFunc(merged, *name(o), func(t T, node string) int { return strings.Compare(*name(&t), node) })
			if !known {
				var one T
				*name(&one) = *name(o)
				merged = slices.Insert(merged, at, one)
			}
			merge(reflect.ValueOf(&merged[at]).Elem(), reflect.ValueOf(o).Elem())
		}
	}
	return merged
}

// measurePeers measures how long each peer waited and how often it was passed
// over.
func (c *Checker) measurePeers(f *Findings, t timeline) {
	n := len(c.names.list)
	peers := make([]*Peer, n)
	var all []int64                                       // when the resource was granted
	own, earliest := make([][]int64, n), make([]int64, n) // by peer: when to it, and since when it wanted it
	var wanted []int64                                    // since when each one's peer wanted it without a break
	for _, acquires := range c.resources {
		for _, a := range acquires {
			own[a.node], earliest[a.node] = own[a.node][:0], math.MaxInt64
		}
		wanted = slices.Grow(wanted[:0], len(acquires))[:len(acquires)]
		for i, a := range slices.Backward(acquires) {
			earliest[a.node] = min(earliest[a.node], a.asked())
			wanted[i] = earliest[a.node]
		}
		all = all[:0]
		for i, a := range acquires {
			if a.at >= t.measure && a.asked() < t.drain {
				if peers[a.node] == nil {
					peers[a.node] = &Peer{Node: c.names.text(a.node)}
				}
				peers[a.node].add(a, t.drain, wait{all: all, own: own[a.node], wanted: wanted[i]})
			}
			if a.outcome == ok && a.at < t.drain {
				all = append(all, a.at)
				own[a.node] = append(own[a.node], a.at)
			}
		}
	}
	got := map[int32]int64{}
	for node, p := range peers {
		if p != nil {
			f.Peers = append(f.Peers, *p)
			got[int32(node)] = p.Acquires //nolint:gosec // far below
		}
	}
	slices.SortFunc(f.Peers, func(a, b Peer) int { return strings.Compare(a.Node, b.Node) })
	f.PeerFairness = jain(got)
}

// wait is what happened to a resource until one wait for it ended.
type wait struct {
	all, own []int64 // grants to anybody, to the peer of the one that waited
	wanted   int64   // since when the peer wanted it without a break
}

// add counts one wait, up to the end of the measured part.
func (p *Peer) add(a *acquire, drain int64, w wait) {
	end, last := min(a.at, drain), int64(math.MinInt64)
	if n := len(w.own); n > 0 {
		last = w.own[n-1]
	}
	p.Wait.add(end - a.asked())
	passed := inside(w.all, a.asked(), end) - inside(w.own, a.asked(), end)
	p.Bypasses += passed
	p.BypassMax = max(p.BypassMax, passed)
	p.InARowMax = max(p.InARowMax, inside(w.all, max(last, w.wanted), end))
	switch {
	case a.at >= drain:
	case a.outcome == ok:
		p.Acquires++
	default:
		p.GaveUp++
	}
}

// inside counts the sorted times after one moment and before another.
func inside(times []int64, after, before int64) int64 {
	return int64(max(0, firstAt(times, before)-firstAt(times, after+1)))
}

// firstAt is the index of the first of the sorted times that is not before x. It
// looks from the end, because waits are short against histories.
func firstAt(times []int64, x int64) int {
	from, to, step := len(times), len(times), 1
	for from > 0 && times[from-1] >= x {
		to = from - 1
		from = max(0, to-step)
		step *= 2
	}
	n, _ := slices.BinarySearch(times[from:to], x)
	return from + n
}
