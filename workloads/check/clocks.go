package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Doubts counts what would be a violation if the clocks of the hosts were off by
// as much as they may be, and none otherwise. Nobody can say, so it is not counted
// as one; a run that has nothing but doubts is inconclusive.
type Doubts struct {
	Rooms    int64 // rooms that may have been created in vain
	Overlaps int64 // holds that may have begun while an older one was believed
	// ErrorNS is the largest error bound of all hosts' clocks.
	ErrorNS int64
}

func (d *Doubts) add(o Doubts) {
	d.Rooms += o.Rooms
	d.Overlaps += o.Overlaps
	d.ErrorNS = max(d.ErrorNS, o.ErrorNS)
}

// doubtText says what the clocks leave open of what the lock is judged on; "" if
// nothing.
func (f *Findings) doubtText() string {
	var what []string
	if n := f.Doubts.Rooms; n > 0 {
		what = append(what, fmt.Sprintf("%d rooms may have been created while another one of their group was free", n))
	}
	if n := f.Doubts.Overlaps; n > 0 {
		what = append(what, fmt.Sprintf("%d holds may have overlapped", n))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, but for less than the error of the hosts' clocks, each of which may be off by %v.",
		strings.Join(what, " and "), time.Duration(f.Doubts.ErrorNS).Round(time.Microsecond))
}

// widen gives all times of a host the error bound that was known in the end.
func (c *Checker) widen(f *Findings) {
	bound := map[int32]int64{}
	for id, name := range c.names.list {
		bound[int32(id)] = c.clocks[c.run.NodeHosts[name]] //nolint:gosec // far below
	}
	apply := func(err *int64, node int32) {
		*err = max(*err, bound[node])
		f.Doubts.ErrorNS = max(f.Doubts.ErrorNS, *err)
	}
	for i := range c.rooms {
		apply(&c.rooms[i].err, c.rooms[i].worker)
	}
	for i := range c.locks.acquires {
		apply(&c.locks.acquires[i].err, c.locks.acquires[i].node)
	}
	for i := range c.locks.holds {
		apply(&c.locks.holds[i].err, c.locks.holds[i].node)
	}
	for _, o := range c.orders {
		o.err = max(o.err, c.clocks[c.run.NodeHosts[o.node]])
		f.Doubts.ErrorNS = max(f.Doubts.ErrorNS, o.err)
	}
}

// surelyFree says whether the clocks leave no doubt that o was free when r was
// created or, if it is open which came first, r when o was.
func surelyFree(r *room, o *freeRoom) bool {
	slack := r.err + o.room.err
	switch {
	case o.span.to <= r.start+slack:
		return false
	case o.span.from+slack <= r.start:
		return true
	case o.again: // perhaps its seat came back later
		return false
	}
	return len(r.free) > 0 && r.free[0].to > o.span.from+slack
}

// doubtHolds counts the holds that overlap as their clocks had it, but not for
// certain. Holds that overlap for certain overlap as the clocks had it too, and
// with every hold that is made longer or added there are as many overlaps or more:
// the difference of both numbers is what is in doubt.
func (c *Checker) doubtHolds(f *Findings) {
	if f.Doubts.ErrorNS == 0 {
		return
	}
	var holds []*hold
	for i := range c.locks.holds {
		if h := &c.locks.holds[i]; h.granted && h.from < h.to {
			holds = append(holds, h)
		}
	}
	slices.SortFunc(holds, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.from, b.from))
	})
	var seen int64
	until := int64(math.MinInt64)
	for i, h := range holds {
		if i == 0 || holds[i-1].resource != h.resource {
			until = math.MinInt64
		}
		if h.from < until {
			seen++
		}
		until = max(until, h.to)
	}
	f.Doubts.Overlaps = seen - f.OverlapHolds
}
