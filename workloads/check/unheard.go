package check

import (
	"slices"

	"locklab/workloads/history"
)

// unheard are those who may have waited when their process was ended: it told nobody for what. A server
// that has not noticed its end may still grant it that, and keep it for a lease.
type unheard struct {
	since map[int32]int64 // the first end of a process that may have waited for the resource
	most  int             // how many resources they may have waited for
}

// unheard is that of the processes that faults of the window ended. The requests of players say for what
// their master may have waited; a client of the other workloads waits for one resource at a time.
func (c *Checker) unheard(w window) unheard {
	u := unheard{since: map[int32]int64{}}
	for node, l := range c.lives {
		for _, d := range l.deaths {
			end := span{d.from, d.seen + 1}
			by := func(f *fault) bool {
				return f.stops() && slices.Contains(f.Nodes, c.name(node)) && f.lasts().meets(end) && f.lasts().meets(w.span)
			}
			switch {
			case d.inOrder() || !slices.ContainsFunc(c.faults, by):
			case c.run.Workload == history.Matchmaking:
				c.requestsOf(node, d, u.wait)
			default:
				c.clientsOf(node, d, &u)
			}
		}
	}
	return u
}

// wait says that a process may have waited for a resource when it was ended.
func (u *unheard) wait(resource int32, since int64) {
	if first, is := u.since[resource]; !is || since < first {
		u.since[resource] = since
	}
	u.most++
}

// requestsOf are the resources of the requests that were under way in a process when it was ended.
func (c *Checker) requestsOf(node int32, d death, wait func(resource int32, since int64)) {
	c.part().eachOp(func(o *op) {
		if o.node == node && max(o.sent, o.from) <= d.seen && o.at >= d.from {
			wait(o.resource, d.from)
		}
	})
}

// clientsOf are the resources that a process has asked for, and its clients that held none when it was
// ended.
func (c *Checker) clientsOf(node int32, d death, u *unheard) {
	holds := map[int32]bool{} // its clients, by what is known of their last time
	for _, own := range c.resources {
		for _, a := range own {
			if a.node != node || a.asked() > d.seen {
				continue
			}
			if first, is := u.since[a.resource]; !is || d.from < first {
				u.since[a.resource] = d.from
			}
			holds[a.client] = holds[a.client] || a.holds() && a.at <= d.seen && min(a.stopped(), a.lost) > d.seen
		}
	}
	for _, held := range holds {
		if !held {
			u.most++
		}
	}
}

// before says whether somebody may have waited for the resource before a moment, as one of so many.
func (u *unheard) before(resource int32, at int64, others int) bool {
	since, is := u.since[resource]
	return is && since < at && others < u.most
}
