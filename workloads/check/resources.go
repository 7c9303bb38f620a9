package check

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// wanted are the acquisitions of each resource that somebody alive wanted.
func (c *Checker) wanted(wants []want) [][]*acquire {
	is := make([]bool, len(c.names.list))
	for i := range wants {
		is[wants[i].resource] = true
	}
	return slices.DeleteFunc(slices.Clone(c.resources), func(own []*acquire) bool { return !is[own[0].resource] })
}

// held is when somebody alive held the resource of acquisitions: sorted, apart.
func (c *Checker) held(acquires []*acquire) (held []span) {
	for _, a := range acquires {
		if a.holds() {
			held = without(held, span{a.at, a.until}, c.lives[a.node].away)
		}
	}
	return apart(held)
}

// checkResources judges the liveness of each resource apart.
//
// A resource counts as stuck only on the word of those who are not cut off: a wait of
// a node is counted until the last grant that the node got of anything else while it
// waited. Nor is it stuck while somebody alive holds it.
//
// After a fault that was over before a stall could be seen, a wait counts to its end. There,
// and where no fault is in force, it must be longer than a holder that is gone keeps it.
func (c *Checker) checkResources(f *Findings, t timeline, windows []window, resources [][]*acquire, all []int64) {
	if len(resources) < 2 { // then it fares as the lock does
		return
	}
	served := sync.OnceValue(func() map[int32][]int64 { // grants, by node
		grants := map[int32][]int64{}
		for _, a := range c.acquires {
			if a.outcome == ok {
				grants[a.node] = append(grants[a.node], a.at)
			}
		}
		return grants
	})
	for _, own := range resources {
		name, grants, next := c.names.text(own[0].resource), grantsOf(own), 0
		wants := sync.OnceValue(func() []want { return c.wants(own) })
		held := sync.OnceValue(func() []span { return c.held(own) })
		var open []want // that began before the moment that is looked at
		for i, w := range windows {
			if i > 0 && w.from < windows[i-1].to { // the whole of the run, after its parts
				next, open = 0, nil
			}
			from, least := w.from, c.stallOf(w)
			if c.brief(w) {
				w = c.longEnough(w, t, grants)
				w.worst = Stalls
			}
			if w.worst == Stalls {
				least = max(least, c.leased())
			}
			n, _ := slices.BinarySearch(grants, from)
			for ; from < w.to; n++ {
				gap := span{from, w.to}
				if n < len(grants) {
					gap.to = min(grants[n], w.to)
				}
				from = gap.to
				if gap.to-gap.from < int64(c.stall) {
					continue
				}
				for ; next < len(wants()) && wants()[next].from < gap.to; next++ {
					open = append(open, wants()[next])
				}
				open = slices.DeleteFunc(open, func(o want) bool { return max(o.to, o.again) <= gap.from })
				if atMost(gap, open) < int64(c.stall) {
					continue
				}
				waits, lately := c.stuck(gap, open, held(), served(), all, w.worst == Live)
				seen := outage{from: gap.from}
				for _, s := range waits {
					seen.wait(s, c.firstFault())
				}
				if ended := n < len(grants) && grants[n] <= t.drain; !ended && gap.to == t.drain && slices.ContainsFunc(open, func(o want) bool { return o.to >= t.drain }) {
					seen.to = t.drain // no node's grants say so until its very end
				}
				wanted := lastWanted(gap, open)
				switch {
				case seen.lasts < least:
				case gap.to == w.to && lately && seen.lasts*2 >= w.to-w.from && w.to-wanted < int64(c.stall) && wanted-w.from >= f.failover(w, name):
					c.fared(f, t, w, Down, seen, name)
				default:
					c.fared(f, t, w, Stalls, seen, name)
				}
			}
		}
	}
}

// lastWanted is until when somebody wanted the resource in the gap: what was after that nobody knows.
func lastWanted(gap span, wants []want) int64 {
	last := gap.from
	for i := range wants {
		last = max(last, min(max(wants[i].to, wants[i].again), gap.to))
	}
	return last
}

// atMost is how long the resource was wanted in the gap at most.
func atMost(gap span, wants []want) (sum int64) {
	for i := range wants {
		sum += min(max(wants[i].to, wants[i].again), gap.to) - max(wants[i].from, gap.from)
	}
	return sum
}

// stuck is when, in a gap without grants, nodes that are not cut off wanted the
// resource and nobody held it; lately says that one of them was served until the end. In the
// whole of a run, that a node was served when the fault was over does not say that it was not
// cut off before; but who is without any grant while nobody has one (all is when anybody was granted)
// is not cut off, the lock is down. Nor is who no fault has cut off.
func (c *Checker) stuck(gap span, wants []want, held []span, served map[int32][]int64, all []int64, whole bool) (waits []span, lately bool) {
	limit := int64(c.stall)
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
		for _, s := range spansOf(own) {
			if whole && !c.mayBeCutOff(node, s) {
				counted = append(counted, s)
				continue
			}
			if whole {
				counted = append(counted, between(s, grants, all, limit)...)
				counted = append(counted, among(s, all, limit)...)
				continue
			}
			n, _ := slices.BinarySearch(grants, gap.to)
			if n == 0 || grants[n-1] <= own[0].from {
				continue
			}
			until := grants[n-1]
			lately = lately || until >= gap.to-limit
			if s.to = min(s.to, until); s.from < s.to {
				counted = append(counted, s)
			}
		}
	}
	for _, s := range apart(counted) {
		waits = append(waits, notHeld([]span{s}, held)...)
	}
	return waits, lately
}

// mayBeCutOff says that a fault that may have cut off a node was in force at some time of a span. A zone
// that fails is cut off, and nobody else is by that.
func (c *Checker) mayBeCutOff(node int32, during span) bool {
	host := c.run.NodeHosts[c.names.text(node)]
	return slices.ContainsFunc(c.faults, func(f *fault) bool {
		hit := slices.Contains(f.From, host) || f.Kind != "zone-failure" && slices.Contains(f.To, host) || host == "" && len(f.From) > 0
		return hit && c.inForce(f).meets(during)
	})
}

// between is the part of a wait in which a node was not without any grant for as long as the
// limit, or in which nobody else was granted anything for most of that: it was not cut off.
func between(s span, grants, all []int64, limit int64) (parts []span) {
	n, _ := slices.BinarySearch(grants, s.from+1)
	for ; n < len(grants) && s.from < s.to; n++ {
		at, before := min(grants[n], s.to), s.from
		if n > 0 {
			before = grants[n-1]
		}
		if grants[n]-before < limit || inSilence(s.from, n, grants, all, limit) {
			parts = append(parts, span{s.from, at})
		}
		s.from = at
	}
	return parts
}

// inSilence says that nobody at all was granted anything for most of the time before a node's n-th
// grant in which it had none, of which from is a moment, and that others were not served for as long
// as the limit in the rest.
func inSilence(from int64, n int, grants, all []int64, limit int64) bool {
	alone := span{from, grants[n]}
	if n > 0 {
		alone.from = min(from, grants[n-1])
	}
	nobody := silence(alone, all)
	return alone.to-alone.from-nobody < min(limit, nobody)
}

// silence is the longest time of a span in which nobody at all was granted anything.
func silence(s span, all []int64) (longest int64) {
	n, _ := slices.BinarySearch(all, s.from+1)
	for from := s.from; from < s.to; n++ {
		to := s.to
		if n < len(all) {
			to = min(to, all[n])
		}
		longest, from = max(longest, to-from), to
	}
	return longest
}

// among is the part of a wait in which nobody at all was granted anything for as long as the limit.
func among(s span, all []int64, limit int64) (parts []span) {
	n, _ := slices.BinarySearch(all, s.from)
	last := int64(math.MinInt64)
	if n > 0 {
		last = all[n-1]
	}
	for ; last < s.to; n++ {
		next := int64(math.MaxInt64)
		if n < len(all) {
			next = all[n]
		}
		if part := (span{max(last, s.from), min(next, s.to)}); part.from < part.to && (last == math.MinInt64 || next-last >= limit) {
			parts = append(parts, part)
		}
		last = next
	}
	return parts
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
