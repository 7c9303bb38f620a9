package check

import (
	"time"

	"locklab/internal/sentence"
)

// Doubts counts what would be a violation if the clocks of the hosts were off by
// as much as they may be, or if a dead worker had no more to say, and none otherwise. Nobody can say, so it is not counted
// as one; a run that has nothing but doubts is inconclusive.
type Doubts struct {
	Rooms    int64 // rooms that may have been created in vain
	Untold   int64 // those of them because a worker died, and may not have said that its room was full
	Overlaps int64 // holds that may have begun while an older one was believed
	// ErrorNS is the largest error bound of all hosts' clocks.
	ErrorNS int64 `merge:"max"`
}

// doubt says what the clocks leave open of what the lock is judged on, if anything.
func (f *Findings) doubt() sentence.Text {
	var what []sentence.Text
	if n := f.Doubts.Rooms; n > 0 {
		what = append(what, sentence.Of("%d rooms may have been created while another one of their group was free", n))
	}
	if n := f.Doubts.Overlaps; n > 0 {
		what = append(what, sentence.Of("%d holds may have overlapped", n))
	}
	if len(what) == 0 {
		return sentence.Text{}
	}
	var why []sentence.Text
	if f.Doubts.Untold < f.Doubts.Rooms+f.Doubts.Overlaps {
		why = append(why, sentence.Of("for less than the error of the hosts' clocks, each of which may be off by %v", time.Duration(f.Doubts.ErrorNS)))
	}
	if f.Doubts.Untold > 0 {
		why = append(why, sentence.Of("the worker of the other room died soon after, and may not have been able to say that it was full"))
	}
	return sentence.Of("%s, but %s", sentence.And(what...), sentence.Or(why...))
}

// widen gives all times of a host the error bound that was known in the end.
func (c *Checker) widen(f *Findings) {
	bound := make([]int64, len(c.names.list))
	for id, name := range c.names.list {
		bound[id] = c.clocks[c.run.NodeHosts[name]]
	}
	apply := func(err *int64, node int32) {
		*err = max(*err, bound[node])
		f.Doubts.ErrorNS = max(f.Doubts.ErrorNS, *err)
	}
	for _, a := range c.acquires {
		apply(&a.err, a.node)
	}
	for i := range c.serverGrants {
		apply(&c.serverGrants[i].err, c.serverGrants[i].node)
	}
	c.part().records(apply)
}

// surelyFree says whether the clocks leave no doubt that o was free when r was
// created or, if it is open which came first, r when o was.
func surelyFree(r *room, o *room) bool {
	slack := r.err + o.err
	switch {
	case o.until <= r.start+slack:
		return false
	case o.start+slack <= r.start:
		return true
	}
	return r.until > o.start+slack
}

// doubtHolds counts the holds that overlap as their clocks had it, but not for
// certain. Holds that overlap for certain overlap as the clocks had it too, and
// with every hold that is made longer or added there are as many overlaps or more:
// the difference of both numbers is what is in doubt.
func (c *Checker) doubtHolds(f *Findings) {
	if f.Doubts.ErrorNS == 0 {
		return
	}
	var seen int64
	until := map[int32]int64{}     // an older hold of the resource was believed
	for _, a := range c.acquires { // sorted by when they began
		if !a.holds() {
			continue
		}
		last, known := until[a.resource]
		if known && a.at < last {
			seen++
		}
		until[a.resource] = max(last, a.until)
		if !known {
			until[a.resource] = a.until
		}
	}
	f.Doubts.Overlaps = seen - f.OverlapHolds
}
