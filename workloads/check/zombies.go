package check

import (
	"cmp"
	"slices"

	"locklab/workloads/history"
)

// grantEvent is that somebody was granted a resource: a server's record, or a client's
// where no server has one.
type grantEvent struct {
	node, resource int32
	token          uint64 // 0 if it has none
	at, err        int64
	hold           *acquire // that came of it; nil for a server's record
}

func (c *Checker) addGrant(e *history.Event) {
	if e.Token > 0 {
		c.serverGrants = push(c.serverGrants, grantEvent{node: c.names.id(e.Node), resource: c.names.id(e.Resource), token: e.Token, at: e.AtNS, err: e.ErrNS})
	}
}

// measureZombies looks for how long holders believed that they hold after the resource had
// been granted to the next one.
func (c *Checker) measureZombies(f *Findings) {
	type key struct {
		resource int32
		token    uint64
	}
	recorded := make(map[key]int, len(c.serverGrants))
	for i := range c.serverGrants { // a new leader may apply again what the old one did
		g := &c.serverGrants[i]
		if first, known := recorded[key{g.resource, g.token}]; !known || g.at < c.serverGrants[first].at {
			recorded[key{g.resource, g.token}] = i
		}
	}
	f.ServerGrants = len(recorded) > 0
	all := make([]grantEvent, 0, len(c.acquires)+len(recorded))
	for _, a := range c.acquires {
		if !a.granted() {
			continue
		}
		g := grantEvent{a.node, a.resource, a.token, a.at, a.err, a}
		if n, known := recorded[key{a.resource, a.token}]; known {
			r := c.serverGrants[n]
			errs := a.err + r.err
			if r.at >= a.asked()-errs { // one from before is another's, whose token came again
				delete(recorded, key{a.resource, a.token})
			}
			if r.at >= a.asked()-errs && r.at <= a.at+errs { // what is later is only applied again
				g.at, g.err = min(g.at, r.at), max(g.err, r.err)
			}
		}
		all = append(all, g)
	}
	for _, n := range recorded { // to clients that were not told, or did not live to say so
		all = append(all, c.serverGrants[n])
	}
	slices.SortFunc(all, func(a, b grantEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.token, b.token)) // as most of them are already
	})
	believed := make([]*acquire, len(c.names.list)) // of those before, by resource, the one that did for longest
	for _, g := range all {
		stale := believed[g.resource]
		if stale != nil && g.at+g.err < stale.until-stale.err {
			f.ZombieNS = max(f.ZombieNS, stale.until-stale.err-g.at-g.err)
		}
		if g.hold != nil && (stale == nil || g.hold.until-g.hold.err > stale.until-stale.err) {
			believed[g.resource] = g.hold
		}
	}
}
