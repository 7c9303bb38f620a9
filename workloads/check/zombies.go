package check

import (
	"cmp"
	"maps"
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
	recorded := map[int32]map[uint64]grantEvent{} // by resource and token
	for _, g := range c.serverGrants {            // a new leader may apply again what the old one did
		own := recorded[g.resource]
		if own == nil {
			own = map[uint64]grantEvent{}
			recorded[g.resource] = own
		}
		if first, known := own[g.token]; !known || g.at < first.at {
			own[g.token] = g
		}
	}
	f.ServerGrants = len(recorded) > 0
	var grants []grantEvent
	for _, own := range c.resources {
		grants = joinGrants(grants[:0], own, recorded[own[0].resource])
		var stale *acquire // of those before, the one that believed for longest
		for _, g := range grants {
			if stale != nil && g.at+g.err < stale.until-stale.err {
				f.ZombieNS = max(f.ZombieNS, stale.until-stale.err-g.at-g.err)
			}
			if g.hold != nil && (stale == nil || g.hold.until-g.hold.err > stale.until-stale.err) {
				stale = g.hold
			}
		}
	}
}

// joinGrants appends the grants of a resource in their order: those that clients were told of, as
// its server has them, and those to clients that were not told, or did not live to say so.
func joinGrants(grants []grantEvent, acquires []*acquire, recorded map[uint64]grantEvent) []grantEvent {
	for _, a := range acquires {
		if !a.granted() {
			continue
		}
		g := grantEvent{a.node, a.resource, a.token, a.at, a.err, a}
		if r, known := recorded[a.token]; known {
			errs := a.err + r.err
			if r.at >= a.asked()-errs { // one from before is another's, whose token came again
				delete(recorded, a.token)
			}
			if r.at >= a.asked()-errs && r.at <= a.at+errs { // what is later is only applied again
				g.at, g.err = min(g.at, r.at), max(g.err, r.err)
			}
		}
		grants = append(grants, g)
	}
	grants = slices.AppendSeq(grants, maps.Values(recorded))
	slices.SortFunc(grants, func(a, b grantEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.token, b.token)) // as most of them are already
	})
	return grants
}
