package safety

import (
	"cmp"
	"slices"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// holds looks at the holds of each resource.
func (j *judge) holds() {
	var holds []*record.Acquire
	for own := range j.ByResource() {
		holds = holds[:0]
		for i := range own {
			if own[i].Granted() {
				holds = append(holds, &own[i])
			}
		}
		j.overlaps(holds)
		j.zombies(holds)
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

// zombies finds for how long at most a holder believed that it holds after the next grant.
func (j *judge) zombies(holds []*record.Acquire) {
	slices.SortStableFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At, b.At) })
	var believed int64 // by any holder before, at least until then
	for _, h := range holds {
		j.f.ZombieNS = max(j.f.ZombieNS, believed-h.At-h.Err)
		believed = max(believed, min(h.Until, j.End)-h.Err)
	}
}
