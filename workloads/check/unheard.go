package check

import (
	"math"
	"slices"

	"locklab/workloads/history"
)

// leftToNobody says that the fault may have left each resource to nobody that somebody wanted to the end
// of the window and that was not granted any more: a lock that goes on waits for a lease then.
func (c *Checker) leftToNobody(w window, resources [][]*acquire) bool {
	dead, theirs := c.unheard(w), 0
	for _, own := range resources {
		since := w.from
		for _, at := range grantsOf(own) {
			if at < w.to {
				since = max(since, at)
			}
		}
		if within(span{since, w.to}, spansOf(c.wants(own))) == 0 {
			continue
		}
		soon := since + int64(c.stall)
		switch {
		case slices.ContainsFunc(c.reach.orphaned[own[0].resource], func(s span) bool { return s.from < soon && s.to >= w.to }):
		case slices.ContainsFunc(own, func(a *acquire) bool { return c.hangs(a, w) < soon }):
		case dead.before(own[0].resource, soon, theirs):
			theirs++
		default:
			return false
		}
	}
	return true
}

// hangs is since when an acquisition, almost as long as the window, or a release had no answer until
// the window was over, so that the resource may have been its client's all the while. Math.MaxInt64 if
// it had one, or was refused for sure.
func (c *Checker) hangs(a *acquire, w window) int64 {
	switch stopped := a.stopped(); {
	case a.at >= w.to && a.outcome != failed && a.asked() < w.from+int64(c.stall):
		return a.asked()
	case a.granted() && a.at < w.to && stopped < w.to && a.answered >= w.to:
		return stopped
	}
	return math.MaxInt64
}

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
				c.requestsOf(node, d, &u)
			default:
				c.clientsOf(node, d, &u)
			}
		}
	}
	return u
}

// wait says that a process that was ended then may have waited for a resource.
func (u *unheard) wait(resource int32, ended int64) {
	if first, is := u.since[resource]; !is || ended < first {
		u.since[resource] = ended
	}
}

// requestsOf are the resources of the requests that were under way in a process when it was ended.
func (c *Checker) requestsOf(node int32, d death, u *unheard) {
	c.part().eachOp(func(o *op) {
		if o.node == node && max(o.sent, o.from) <= d.seen && o.at >= d.from {
			u.wait(o.resource, d.from)
			u.most++
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
			u.wait(a.resource, d.from)
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
