package safety

import (
	"cmp"
	"slices"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// holds looks at the holds of each resource.
func (j *judge) holds() {
	granted := j.serverGrants()
	var holds []*record.Acquire
	for own := range j.ByResource() {
		holds = holds[:0]
		for i := range own {
			if own[i].Granted() {
				holds = append(holds, &own[i])
			}
		}
		j.overlaps(holds)
		j.zombies(holds, granted[own[0].Resource])
		j.tokens(slices.DeleteFunc(holds, func(a *record.Acquire) bool { return a.Token == 0 }))
	}
}

// overlaps counts the holds during which another one surely began: the one that surely began
// next tells.
func (j *judge) overlaps(holds []*record.Acquire) {
	slices.SortFunc(holds, func(a, b *record.Acquire) int {
		return cmp.Or(cmp.Compare(a.At+a.Err, b.At+b.Err), cmp.Compare(b.Until-b.Err, a.Until-a.Err))
	})
	for i, h := range holds[:max(0, len(holds)-1)] {
		switch next := holds[i+1]; {
		case next.At+next.Err < h.Until-h.Err:
			j.f.Overlaps++
			j.violation(result.Overlaps, next.At, h.Resource, func() (was, came result.Party) { return j.holder(h), j.holder(next) })
		case next.At < h.Until:
			j.f.InDoubt++
		}
	}
}

// tokens counts the holds that have no higher token than each that surely ended before they began.
func (j *judge) tokens(holds []*record.Acquire) {
	slices.SortFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At-a.Err, b.At-b.Err) })
	ended := slices.Clone(holds)
	slices.SortFunc(ended, func(a, b *record.Acquire) int { return cmp.Compare(surelyOver(a), surelyOver(b)) })
	var highest *record.Acquire
	for _, h := range holds {
		for len(ended) > 0 && ended[0] != h && surelyOver(ended[0]) <= h.At-h.Err {
			if highest == nil || ended[0].Token > highest.Token {
				highest = ended[0]
			}
			ended = ended[1:]
		}
		if highest != nil && h.Token <= highest.Token {
			j.f.TokensBack++
			j.violation(result.TokensBack, h.At, h.Resource, func() (was, came result.Party) { return j.holder(highest), j.holder(h) })
		}
	}
}

func surelyOver(a *record.Acquire) int64 {
	if a.Until == record.Never {
		return record.Never
	}
	return a.Until + a.Err
}

// grant is that a resource was granted: as a client was told, or as a server recorded it for a
// client that was not told.
type grant struct {
	at, err int64
	hold    *record.Acquire // nil: a server's
}

// serverGrants has the first record of each token, by resource: a new leader may apply again what
// the old one granted.
func (j *judge) serverGrants() map[record.Name]map[uint64]grant {
	all := map[record.Name]map[uint64]grant{}
	for _, g := range j.Grants { // sorted by time
		own := all[g.Resource]
		if own == nil {
			own = map[uint64]grant{}
			all[g.Resource] = own
		}
		if _, known := own[g.Token]; !known && g.Token > 0 {
			own[g.Token] = grant{at: g.At, err: g.Err}
		}
	}
	return all
}

// zombies finds for how long at most a holder believed that it holds after the next grant.
func (j *judge) zombies(holds []*record.Acquire, server map[uint64]grant) {
	grants := make([]grant, 0, len(holds)+len(server))
	for _, h := range holds {
		g := grant{h.At, h.Err, h}
		// A record from before the client asked is of another client, with the same token.
		if s, known := server[h.Token]; known && s.at >= h.From-h.Err-s.err {
			delete(server, h.Token)
			if s.at < g.at {
				g.at, g.err = s.at, max(g.err, s.err)
			}
		}
		grants = append(grants, g)
	}
	for _, s := range server {
		grants = append(grants, s)
	}
	slices.SortStableFunc(grants, func(a, b grant) int { return cmp.Compare(a.at, b.at) })
	var believed int64 // by any holder before, at least until then
	for _, g := range grants {
		j.f.ZombieNS = max(j.f.ZombieNS, believed-g.at-g.err)
		if g.hold != nil {
			believed = max(believed, min(g.hold.Until, j.End)-g.hold.Err)
		}
	}
}
