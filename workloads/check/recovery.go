package check

import (
	"cmp"
	"slices"
	"time"
)

const (
	// recovered is the share of the availability before the fault that counts as
	// recovered, held for recoverySlots.
	recovered     = 0.9
	recoverySlots = int(500 * time.Millisecond / SlotLength)
)

// lack is when somebody waited for what nobody alive held, when somebody waited whoever held it, and when
// it was granted.
type lack struct {
	demand, wanted []span
	grants         []int64
}

// lacks are that of the lock and, of several, those of each resource. Who called his acquisition
// off, because what it was for had come by another way, was missing nothing. Nor was a resource missing
// between a refusal and the next who asked for it, if that one got it.
//
// While a fault goes on that heals itself, all that is demanded counts for the lock as a whole, as in its
// stalls: also what somebody alive holds.
func (c *Checker) lacks(resources [][]*acquire, windows []window, demand []span, grants []int64) (list []lack) {
	missed := make([][]*acquire, len(resources))
	for i, own := range resources {
		missed[i] = slices.DeleteFunc(slices.Clone(own), func(a *acquire) bool { return a.outcome != ok && c.needless(a) })
	}
	if len(missed) > 1 {
		for _, own := range missed {
			wants, granted := c.wants(own), grantsOf(own)
			for i, w := range wants {
				after, _ := slices.BinarySearchFunc(wants, w.to+1, func(o want, at int64) int { return cmp.Compare(o.from, at) })
				if after == len(wants) {
					continue
				}
				if _, got := slices.BinarySearch(granted, wants[after].to); got {
					wants[i].again = w.to
				}
			}
			list = append(list, lack{spansOf(c.free(own, wants)), spansOf(c.wants(own)), granted})
		}
	}
	var healing []window
	for _, w := range windows {
		if w.heal > 0 && w.heal < w.to {
			healing = append(healing, window{span: span{w.heal, w.to}})
		}
	}
	return append(list, lack{besidesIn(healing, demand, spansOf(c.unheld(missed))), spansOf(c.wants(c.acquires)), grants})
}

// recovery is the time from the heal until what lacked is granted again and the
// share of operations that end ok is back; false if that never happened. What begins later than until,
// when the next fault does, has another cause; what was not back by then goes on, whatever is broken
// meanwhile. It is -1 where nothing was served before.
func (c *Checker) recovery(f *Findings, t timeline, w window, until int64, lacks []lack) (took int64, done bool) {
	if w.heal >= t.drain {
		return -1, true // nobody looked
	}
	done = true
	for _, l := range lacks {
		after, granted := c.grantsAgain(w, t, until, l)
		took, done = max(took, after), done && granted
	}
	if !done {
		return took, false
	}
	before := share(f.Slots[:slotOf(f, w.from-t.measure)])
	if before < 0 { // a fault from the beginning: there is no before
		before = 1
	}
	if before == 0 { // which cannot come back
		return -1, true
	}
	first, next := slotOf(f, w.heal-t.measure), len(f.Slots)
	if until < t.drain {
		next = slotOf(f, until-t.measure)
	}
	for n := first; n < len(f.Slots); n++ {
		last := len(f.Slots)
		if n < next { // what fails under the next fault says nothing of the time before
			last = next
		}
		now := share(f.Slots[n:min(n+recoverySlots, last)])
		if now < 0 || now >= recovered*before { // nothing was due: nothing is missing
			if n > first {
				took = max(took, t.measure+int64(n)*int64(SlotLength)-w.heal)
			}
			return took, done
		}
	}
	return max(took, t.drain-w.heal), false
}

// grantsAgain is the time from the heal to the first grant, if somebody wanted then what nobody alive
// held; and if a stall begins soon, to its end: without the time in which nobody wanted it. Who gave up
// before a stall could be seen, and was followed by nobody, does not say that it never came.
func (c *Checker) grantsAgain(w window, t timeline, until int64, l lack) (took int64, done bool) {
	last := min(until, w.to+c.settles())
	begun, _ := slices.BinarySearchFunc(l.demand, last, func(s span, at int64) int { return cmp.Compare(s.from, at) })
	demand := l.demand[:begun]
	waited := within(span{w.heal - 1, w.heal + 1}, demand) > 0
	done = true
	next, _ := slices.BinarySearch(l.grants, w.heal)
	for since := w.heal; since < last; next++ {
		gap, ends := span{since, t.drain}, next < len(l.grants)
		if ends {
			gap.to = l.grants[next]
		}
		long := within(span{since, min(gap.to, until)}, demand) >= int64(c.stall)
		if long || since == w.heal && waited {
			took, done = gap.to-w.heal, ends || !long && demand[begun-1].to < t.drain
			if done {
				took -= unwanted(gap, l.wanted)
			}
		}
		if !ends {
			break
		}
		since = gap.to
	}
	return took, done
}

// unwanted is how much of a span nobody wanted what is demanded, who asks again soon apart.
func unwanted(during span, demand []span) (sum int64) {
	last := during.from
	left := func(to int64) {
		if hole := to - last; hole > int64(DemandGap) {
			sum += hole
		}
	}
	for _, s := range demand {
		if s.to > during.from && s.from < during.to {
			left(s.from)
			last = min(s.to, during.to)
		}
	}
	left(during.to)
	return sum
}

// share is the share of operations that ended ok; -1 if there were none.
func share(slots []Slot) float64 {
	ended, all := int64(0), int64(0)
	for _, s := range slots {
		ended += s.OK
		all += s.OK + s.Failed + s.Unknown
	}
	if all == 0 {
		return -1
	}
	return float64(ended) / float64(all)
}
