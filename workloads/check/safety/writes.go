package safety

import (
	"cmp"
	"math"
	"slices"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// access is what the store of fenced-write did, with the hold that it was done under; nil if
// that is not on record.
type access struct {
	*record.Access
	hold *record.Acquire
}

// position orders what a store did, without any clock: a write lies between its version and the
// one before, all else at the version that it met.
func (a access) position() uint64 {
	if a.Kind == record.DidWrite {
		return 2 * a.Version
	}
	return 2*a.Version + 1
}

// writes looks at what the store did for each resource.
func (j *judge) writes() {
	if len(j.Accesses) == 0 {
		return
	}
	all := make([]access, len(j.Accesses))
	for i := range j.Accesses {
		a := &j.Accesses[i]
		all[i] = access{a, j.Hold(a.Hold)}
		if a.Kind == record.RefusedWrite {
			j.row.Figures["fenced_writes"]++
		}
		j.checked = j.checked || (a.Kind == record.DidWrite || a.Kind == record.RefusedWrite) && a.Token > 0
	}
	slices.SortFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.position(), b.position()), cmp.Compare(a.At, b.At))
	})
	for own := range record.Groups(all, func(a *access) record.Name { return a.Resource }) {
		j.stale(own)
		j.lost(own)
	}
}

// stale counts the writes that the store took after it had served a later hold.
func (j *judge) stale(own []access) {
	var newest access
	for _, a := range own {
		if a.hold == nil || a.Kind != record.DidRead && a.Kind != record.DidWrite {
			continue
		}
		if a.Kind == record.DidWrite && newest.hold != nil && later(newest.hold, a.hold) {
			j.late(result.StaleWrites, a.At, newest, a)
		}
		if newest.hold == nil || later(a.hold, newest.hold) {
			newest = a
		}
	}
}

// later says that a hold was surely granted after another one: by their tokens, or else by when
// their clients were told.
func later(a, b *record.Acquire) bool {
	if a.Token > 0 && b.Token > 0 && a.Token != b.Token {
		return a.Token > b.Token
	}
	return a.At-a.Err > b.At+b.Err
}

// lost counts the versions that a later writer overwrote without having read them.
func (j *judge) lost(own []access) {
	var by access
	read := uint64(math.MaxUint64) // the oldest version that a later writer had read
	for _, a := range slices.Backward(own) {
		if a.Kind != record.DidWrite {
			continue
		}
		if read < a.Version {
			j.late(result.LostUpdates, by.At, a, by)
		}
		if a.Base < read {
			read, by = a.Base, a
		}
	}
}

// late counts a write that came too late; it is a violation if the store checked tokens.
func (j *judge) late(code result.Code, at int64, was, came access) {
	if j.checked {
		j.violation(code, at, came.Resource, j.writer(was), j.writer(came))
	} else {
		j.row.Figures[figure(code)]++
	}
}

func (j *judge) writer(a access) party {
	if a.hold != nil {
		return j.holder(a.hold)
	}
	return func() result.Party {
		return result.Party{Node: j.Text(a.By), Hold: j.Text(a.Hold), Token: a.Token, FromMS: j.MS(a.At), ToMS: j.MS(a.At)}
	}
}
