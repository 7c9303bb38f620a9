package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/workloads/history"
)

// notInTime says that a fault was not in force in the measured part; "" if it was.
func (c *Checker) notInTime(f *Fault, t timeline) string {
	s := span{f.BeganNS, math.MaxInt64}
	if f.HealAskedNS >= 0 {
		s.to = max(f.HealAskedNS, f.BeganNS+1)
	}
	if t.measure < t.drain && !s.meets(span{t.measure, t.drain}) {
		return "it was not in force in the measured part"
	}
	return ""
}

// aimedAtHolder says whether the fault was to hit whoever held a lock.
func (f *Fault) aimedAtHolder() bool {
	target, _, _ := strings.Cut(f.Target, " ")
	return target == history.TargetHolder
}

// noHoldHit says that a fault that was aimed at a holder hit nobody who held; "" if it
// did. Who is stopped must have held something from before that until it went on; who is
// killed must not have begun to release it.
func (c *Checker) noHoldHit(f *Fault, nodes []string) string {
	if !f.aimedAtHolder() {
		return ""
	}
	for _, name := range nodes {
		node := c.names.id(name)
		hit := c.hitTime(node, f.AskedNS)
		for i := range c.locks.holds {
			h := &c.locks.holds[i]
			if h.node == node && h.granted && h.from <= hit.from && h.to >= hit.to {
				return ""
			}
		}
	}
	return fmt.Sprintf("no hold was hit: when %s was stopped, it held nothing for long enough", strings.Join(nodes, ", "))
}

// hitTime is from when a node stood still until it may have gone on; for ever if it was
// killed.
func (c *Checker) hitTime(node int32, asked int64) span {
	events := slices.Clone(c.nodes[node])
	slices.SortStableFunc(events, func(a, b nodeEvent) int { return cmp.Compare(a.at, b.at) })
	hit := span{math.MinInt64, math.MaxInt64} // nothing is old enough to be hit then
	for _, e := range events {
		switch {
		case e.at < asked:
		case e.state == "killed":
			return span{e.at, math.MaxInt64}
		case e.state == "paused" && hit.from == math.MinInt64:
			hit.from = e.at
		case e.state == "resumed" && hit.from != math.MinInt64:
			hit.to = cmp.Or(e.asked, e.at)
			return hit
		}
	}
	if hit.from != math.MinInt64 { // it stood still to the end
		hit.to = c.end
	}
	return hit
}
