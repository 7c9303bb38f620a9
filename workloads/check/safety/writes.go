package safety

import (
	"cmp"
	"math"
	"slices"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// access is what the store of fenced-write did, with the hold that it was done under; nil if
// that is not on record.
type access struct {
	*history.Event
	hold *record.Acquire
}

func (a access) wrote() bool { return a.Kind == history.KindWrite && a.State == history.WriteAccepted }

// position orders what a store did, without any clock: a write lies between its version and the
// one before, all else at the version that it met.
func (a access) position() uint64 {
	if a.wrote() {
		return 2 * a.Version
	}
	return 2*a.Version + 1
}

// writes looks at what the store did for each resource.
func (j *judge) writes() {
	all := make([]access, len(j.Accesses))
	for i := range j.Accesses {
		a := &j.Accesses[i]
		all[i] = access{a, j.Hold(a.Hold)}
		if a.Kind == history.KindWrite && a.State == history.WriteRefused {
			j.row.Figures["fenced_writes"]++
		}
		j.checked = j.checked || a.Kind == history.KindWrite && a.State != history.WriteUnknown && a.Token > 0
	}
	slices.SortFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.position(), b.position()),
			cmp.Compare(a.AtNS, b.AtNS))
	})
	for own := range record.Groups(all, func(a access) string { return a.Resource }) {
		j.stale(own)
		j.lost(own)
	}
}

// stale counts the writes that the store took after it had served a later hold.
func (j *judge) stale(own []access) {
	var newest access
	for _, a := range own {
		if a.hold == nil || a.State == history.WriteRefused || a.State == history.WriteUnknown {
			continue
		}
		if a.wrote() && newest.hold != nil && later(newest.hold, a.hold) {
			j.late(result.StaleWrites, newest, a)
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
		if !a.wrote() {
			continue
		}
		if read < a.Version {
			j.late(result.LostUpdates, a, by)
		}
		if a.Base < read {
			read, by = a.Base, a
		}
	}
}

// late counts a write that came too late; it is a violation if the store checked tokens.
func (j *judge) late(code result.Code, was, came access) {
	if j.checked {
		j.violation(code, came.AtNS, came.Resource, j.writer(was), j.writer(came))
	} else {
		j.row.Figures[figure(code)]++
	}
}

func (j *judge) writer(a access) result.Party {
	if a.hold != nil {
		return j.holder(a.hold)
	}
	return result.Party{Node: a.Client, Hold: a.Hold, Token: a.Token, FromMS: j.MS(a.AtNS), ToMS: j.MS(a.AtNS)}
}
