package link

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Traffic is the bytes that this host's links to one node have delivered since they were
// opened. What a fault swallowed is not in it, nor are probes.
type Traffic struct {
	ToNode   string
	Up, Down int64
}

// counters are a link's; pipes add to them without a lock.
type counters struct{ up, down atomic.Int64 }

func (c *counters) add(way Direction, bytes int64) {
	if way == Up {
		c.up.Add(bytes)
		return
	}
	c.down.Add(bytes)
}

// Traffic lists what went to and from each node, by name.
func (h *Host) Traffic() []Traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	sums := map[string]*Traffic{}
	for _, l := range h.links {
		node := l.spec.ToNode
		if l.spec.isProbe() {
			continue
		}
		if sums[node] == nil {
			sums[node] = &Traffic{ToNode: node}
		}
		sums[node].Up += l.carried.up.Load()
		sums[node].Down += l.carried.down.Load()
	}
	var all []Traffic
	for _, t := range sums {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b Traffic) int { return cmp.Compare(a.ToNode, b.ToNode) })
	return all
}
