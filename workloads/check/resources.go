package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// resource is what happened to one resource.
type resource struct {
	wants  []want  // sorted by beginning
	grants []int64 // in order
	held   []span  // by somebody alive, sorted, apart
}

// checkResources judges the liveness of each resource apart.
//
// A resource counts as stuck only on the word of those who are not cut off: a wait of
// a node is counted until the last grant that the node got of anything else while it
// waited. Nor is it stuck while somebody alive holds it.
func (c *Checker) checkResources(f *Findings, windows []window, all map[int32]*resource) {
	if len(all) < 2 { // then it fares as the lock does
		return
	}
	served := map[int32][]int64{} // grants, by node
	for _, a := range c.acquires {
		if a.outcome == ok {
			served[a.node] = append(served[a.node], a.at)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		r, next := all[id], 0
		var open []want // that began before the moment that is looked at
		for _, w := range windows {
			from := w.from
			n, _ := slices.BinarySearch(r.grants, from)
			for ; from < w.to; n++ {
				gap := span{from, w.to}
				if n < len(r.grants) {
					gap.to = min(r.grants[n], w.to)
				}
				from = gap.to
				if gap.to-gap.from < int64(c.stall) {
					continue
				}
				for ; next < len(r.wants) && r.wants[next].from < gap.to; next++ {
					open = append(open, r.wants[next])
				}
				open = slices.DeleteFunc(open, func(o want) bool { return max(o.to, o.again) <= gap.from })
				if atMost(gap, open) < int64(c.stall) {
					continue
				}
				stall, lately := stuck(gap, open, r.held, served, int64(c.stall))
				length, name := w.to-w.from, c.names.text(id)
				switch {
				case stall < int64(c.stall):
				case gap.to == w.to && lately && stall*2 >= length && length >= f.failover(w, name):
					f.fared(w, Down, stall, name)
				default:
					f.fared(w, Stalls, stall, name)
				}
			}
		}
	}
}

// atMost is how long the resource was wanted in the gap at most.
func atMost(gap span, wants []want) (sum int64) {
	for i := range wants {
		sum += min(max(wants[i].to, wants[i].again), gap.to) - max(wants[i].from, gap.from)
	}
	return sum
}

// stuck is how long, in a gap without grants, nodes that are not cut off wanted the
// resource and nobody held it; lately says that one of them was served until the end.
func stuck(gap span, wants []want, held []span, served map[int32][]int64, limit int64) (stall int64, lately bool) {
	byNode := map[int32][]want{}
	for _, w := range wants {
		w.span = span{max(w.from, gap.from), min(w.to, gap.to)}
		if w.from < w.to {
			byNode[w.node] = append(byNode[w.node], w)
		}
	}
	var counted []span
	for node, own := range byNode {
		grants := served[node]
		n, _ := slices.BinarySearch(grants, gap.to)
		if n == 0 || grants[n-1] <= own[0].from {
			continue
		}
		until := grants[n-1]
		lately = lately || until >= gap.to-limit
		for _, s := range spansOf(own) {
			if s.to = min(s.to, until); s.from < s.to {
				counted = append(counted, s)
			}
		}
	}
	for _, s := range apart(counted) {
		for _, part := range notHeld([]span{s}, held) {
			stall += part.to - part.from
		}
	}
	return stall, lately
}

// resources sorts what happened by resource, for those that somebody wanted.
func (c *Checker) resources(wants []want) map[int32]*resource {
	all := map[int32]*resource{}
	for _, w := range wants {
		r := all[w.resource]
		if r == nil {
			r = &resource{}
			all[w.resource] = r
		}
		r.wants = append(r.wants, w)
	}
	for _, a := range c.acquires {
		r := all[a.resource]
		if a.outcome != ok || r == nil {
			continue
		}
		r.grants = append(r.grants, a.at)
		if a.holds() {
			r.held = without(r.held, span{a.at, a.until}, c.lives[a.node].away)
		}
	}
	for _, r := range all {
		r.held = apart(r.held)
	}
	return all
}

// apart sorts spans and merges those that touch.
func apart(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged, until := spans[:0], int64(math.MinInt64)
	for _, s := range spans {
		if s.from <= until {
			merged[len(merged)-1].to = max(until, s.to)
		} else {
			merged = append(merged, s)
		}
		until = max(until, s.to)
	}
	return merged
}
