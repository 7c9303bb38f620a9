package check

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// window is a time in which faults were in force, or none was.
type window struct {
	span
	heal int64 // when the heal was asked for; 0 if it never was
	over int64 // when what was broken had ended, in the measured part; not before to
	// wanted is until when somebody wanted in it what is judged, 0 if to its end; and still for how long
	// after it, and before it was over, somebody waited and nobody was granted.
	wanted, still int64
	// held says that a fault of it was aimed at whoever held the lock, or left all that was wanted to nobody.
	held bool
	// led says that a fault of it may have lost the lock's leader, whose successor counts leases anew.
	led   bool
	worst string // that a stall of it can show
	// calm says that no fault is in force in it, nor explains anything.
	calm bool
}

// electionTime is how long after the loss of a leader, at most, its successor counts leases from: one is
// elected within [FailoverTime], and may add as much, for which nobody could renew them.
const electionTime = 2 * FailoverTime

// stallOf is how long nobody may be granted in a window. How short a run is shortens that only
// for faults, which are short in it too: a lock without any answers no faster because the run
// is over soon.
func (c *Checker) stallOf(w window) int64 {
	if w.calm {
		return int64(max(c.stall, c.run.Limit(calmStall)))
	}
	return int64(c.stall)
}

// atOnce is how long after its beginning a fault's end is asked for that heals itself.
const atOnce = time.Millisecond

// windows merges the faults' times, from when they began until their heal was
// asked for, within the measured part. What heals itself (a restart), is asked for that
// as soon as it began: it lasts until it is over.
func (c *Checker) windows(t timeline) []window {
	var list []window
	for _, f := range c.faults {
		_, held := f.aimedAtHolder()
		w := window{span: span{from: f.BeganNS, to: t.drain}, held: held, led: !held, worst: Down}
		if w.from < 0 {
			w.from = f.AskedNS
		}
		if f.HealAskedNS >= 0 {
			w.to, w.heal = f.HealAskedNS, f.HealAskedNS
			if f.HealAskedNS-f.BeganNS < int64(atOnce) {
				w.to = max(w.to, f.lasts().to)
			}
		} else if f.EndedNS >= 0 {
			w.to = f.EndedNS
		}
		w.from, w.to = max(w.from, t.measure), min(w.to, t.drain)
		w.over = max(w.to, min(f.lasts().to, t.drain))
		if w.from < w.to {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		if len(c.faults) > 0 || t.measure >= t.drain {
			return nil // faults outside of the measured part: nothing to say
		}
		return []window{{span: span{t.measure, t.drain}, worst: Down, calm: true}}
	}
	slices.SortFunc(list, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	merged := list[:1]
	for _, w := range list[1:] {
		last := &merged[len(merged)-1]
		if w.from > last.to {
			merged = append(merged, w)
			continue
		}
		last.held, last.led, last.over = last.held || w.held, last.led || w.led, max(last.over, w.over)
		if w.to >= last.to {
			last.to, last.heal = w.to, w.heal
		}
	}
	return merged
}

// outside is the time in which no fault explains a stall any more: what went on without
// something, or was left held, has had its time since.
func (c *Checker) outside(t timeline) (list []window) {
	var explained []span
	for _, f := range c.faults {
		s := c.inForce(f)
		if f.EndedNS >= 0 {
			s.to = max(s.to, f.EndedNS+c.settles())
		}
		explained = append(explained, s)
	}
	for _, s := range without(nil, span{t.measure, t.drain}, apart(explained)) {
		list = append(list, window{span: s, worst: Stalls, calm: true})
	}
	return list
}

// settles is how long after a fault somebody may wait because of it.
func (c *Checker) settles() int64 { return max(int64(c.run.Limit(FailoverTime)), c.leased()) }

// leased is for how long at most nobody is granted what a holder left behind.
func (c *Checker) leased() int64 { return c.run.LeaseNS + int64(c.run.Limit(leaseSlack)) }

// leaseSlack is how long after the end of a lease the resource is granted at the latest.
const leaseSlack = 500 * time.Millisecond

// checkLiveness measures stalls and recovery. The lock as a whole is judged, and each
// resource apart: that others are granted is no comfort to who waits for one.
func (c *Checker) checkLiveness(f *Findings, t timeline, idle []int64) {
	windows := c.windows(t)
	wants, grants := c.wants(c.acquires), grantsOf(c.acquires)
	demand, resources := spansOf(wants), c.wanted(wants)
	asked := c.asked(windows, demand)
	free := spansOf(c.unheld(resources))
	switch { // who waits for what somebody alive holds has to
	case len(c.faults) == 0:
		demand = free
	case len(resources) == 1:
		demand = notHeld(demand, c.held(resources[0]))
	}
	lacks := sync.OnceValue(func() []lack { return c.lacks(resources, windows, demand, grants) })
	for i, w := range windows {
		live, stall, _ := c.fare(c.longEnough(w, t, grants), demand, grants)
		judged := w.goneOn(demand, grants)
		judged.held = w.held || live == Down && c.leftToNobody(w, resources)
		c.fared(f, t, judged, live, stall, "")
		if w.heal > 0 {
			until := t.drain
			if i+1 < len(windows) {
				until = windows[i+1].from
			}
			took, done := c.recovery(f, t, w, until, lacks())
			if !done && w.over >= t.drain { // not all that was broken was back
				took, done = -1, true
			}
			f.RecoveryNS = max(f.RecoveryNS, took)
			f.NotRecovered = f.NotRecovered || !done
		}
	}
	c.checkResources(f, t, windows, resources, grants)
	c.checkZones(f, t, wants)
	if n := len(windows); n > 0 && windows[n-1].heal > 0 {
		c.checkEnd(f, t, windows[n-1], resources, idle)
	}
	c.checkDead(f, t, resources, spansOf(c.unheld(resources)), grants)
	f.Demand = len(c.faults) == 0 || len(windows) > 0 && 2*asked >= len(windows)
	if len(c.faults) > 0 {
		others := c.outside(t)
		for _, w := range others {
			live, stall, _ := c.fare(w, free, grants)
			c.fared(f, t, w, live, stall, "")
		}
		whole := window{span: span{t.measure, t.drain}, worst: Live} // only its length is told
		live, stall, _ := c.fare(whole, besidesIn(windows, demand, free), grants)
		c.fared(f, t, whole, live, stall, "")
		others = append(others, whole)
		c.checkResources(f, t, others, resources, grants)
	}
	f.Whole = c.lengths[""]
	f.Stuck = f.Stuck.or(c.lengths[f.Stuck.Of]) // also where it is not what decides
}

// checkDead looks for a second of an outage, of the lock or of a resource, in which no fault is in force or
// settling. Without faults it must have lasted to the end: else it is a stall.
func (c *Checker) checkDead(f *Findings, t timeline, resources [][]*acquire, free []span, grants []int64) {
	calm, to, second := c.outside(t), t.drain, int64(c.run.Limit(longStall))
	if len(c.faults) == 0 {
		calm = []window{{span: span{t.measure, t.drain}}}
	}
	look := func(name string, free []span, grants []int64, least int64) {
		for _, s := range free {
			n, _ := slices.BinarySearch(grants, s.from+1)
			for from := max(s.from, t.measure); from < min(s.to, to); n++ {
				o := outage{from: from, to: min(s.to, to)}
				if n < len(grants) {
					o.to = min(o.to, grants[n])
				}
				from = o.to
				o.wait(span{o.from, o.to}, c.firstFault())
				if o.lasts >= least && (len(c.faults) > 0 || o.to == to) && slices.ContainsFunc(calm, func(w window) bool {
					return min(w.to, o.to)-max(w.from, o.from) >= second
				}) {
					c.fared(f, t, window{span: span{t.measure, t.drain}, worst: Dead}, Dead, o, name)
				}
			}
		}
	}
	look("", free, grants, second)
	if len(resources) > 1 { // else it fares as the lock does
		for _, own := range resources {
			look(c.names.text(own[0].resource), spansOf(c.free(own, c.wants(own))), grantsOf(own), second+c.run.LeaseNS)
		}
	}
}

// besidesIn is the demand of the windows, and the rest, which is of all the time.
func besidesIn(windows []window, demand, rest []span) []span {
	all := slices.Clone(rest)
	for _, w := range windows {
		for _, s := range demand {
			if s = (span{max(s.from, w.from), min(s.to, w.to)}); s.from < s.to {
				all = append(all, s)
			}
		}
	}
	return apart(all)
}

// unheld is when somebody wanted a resource that nobody alive held.
func (c *Checker) unheld(resources [][]*acquire) (free []want) {
	for _, own := range resources {
		free = append(free, c.free(own, c.wants(own))...)
	}
	slices.SortFunc(free, func(a, b want) int { return cmp.Compare(a.from, b.from) })
	return free
}

// free is the part of these wants of one resource in which nobody alive held it. Who was refused, and
// comes back while another holds it, waits for that one and not for the lock.
func (c *Checker) free(own []*acquire, wants []want) (free []want) {
	held := c.held(own)
	for _, w := range merged(wants) {
		for _, s := range notHeld([]span{w.span}, held) {
			part := want{span: s, again: s.to}
			if s.to == w.to {
				part.again = w.again
				if next, _ := slices.BinarySearchFunc(held, s.to, func(h span, at int64) int { return cmp.Compare(h.from, at) }); next < len(held) {
					part.again = min(w.again, held[next].from)
				}
			}
			free = append(free, part)
		}
	}
	return free
}

// checkZones measures for how long of the measured part a zone was without the lock, whoever
// else got it. It is told, not judged.
func (c *Checker) checkZones(f *Findings, t timeline, wants []want) {
	demand, granted := map[string][]want{}, map[string][]int64{}
	for _, w := range wants {
		demand[c.zone(w.node)] = append(demand[c.zone(w.node)], w)
	}
	if delete(demand, ""); len(demand) < 2 {
		return
	}
	for _, a := range c.acquires {
		if a.outcome == ok {
			granted[c.zone(a.node)] = append(granted[c.zone(a.node)], a.at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(demand)) {
		_, stall, wanted := c.fare(window{span: span{t.measure, t.drain}}, spansOf(demand[name]), granted[name])
		stall.zone = name
		if seen := stall.told(t); wanted && (f.InZone.Of == "" || seen.NS > f.InZone.NS) {
			f.InZone = seen
		}
		c.longest = c.longest.or(stall)
	}
}

// zone is that of a node; "" if the history does not say.
func (c *Checker) zone(node int32) string {
	return c.run.HostZones[c.run.NodeHosts[c.names.text(node)]]
}

// asked counts the windows that show how the lock fares: somebody waited for as long as a
// stall, or for half of the time, or asked in it and got what he asked for. In one that is
// too short to wait for that, it may come later.
func (c *Checker) asked(windows []window, demand []span) (n int) {
	for _, w := range windows {
		if within(w.span, demand) >= min(int64(c.stall), (w.to-w.from)/2) || slices.ContainsFunc(c.acquires, func(a *acquire) bool {
			return a.outcome == ok && a.asked() >= w.from && a.asked() < w.to && (a.at <= w.to || c.brief(w))
		}) {
			n++
		}
	}
	return n
}

// longEnough is the window, or, if a stall could not be seen in one so short, the window until
// the first grant after it: who waits then has waited since.
func (c *Checker) longEnough(w window, t timeline, grants []int64) window {
	if c.brief(w) {
		next, _ := slices.BinarySearch(grants, w.to)
		if next < len(grants) {
			w.to = min(grants[next], t.drain)
		} else {
			w.to = t.drain
		}
	}
	return w
}

// goneOn is the window with until when it was wanted, and how long it went on as it was at its end.
func (w window) goneOn(demand []span, grants []int64) window {
	for _, s := range demand {
		if s.from < w.to && s.to > w.from {
			w.wanted = min(s.to, w.to)
		}
	}
	if w.over > w.to {
		until := w.over
		if next, _ := slices.BinarySearch(grants, w.to); next < len(grants) {
			until = min(until, grants[next])
		}
		w.still = within(span{w.to, until}, demand)
	}
	return w
}

// brief says that a fault was over before a stall could be seen in it.
func (c *Checker) brief(w window) bool { return w.heal > 0 && w.to-w.from < int64(c.stall) }

// notHeld is the demand without the time in which somebody alive holds the resource.
func notHeld(demand, held []span) (free []span) {
	for _, s := range demand {
		first, _ := slices.BinarySearchFunc(held, s.from, func(h span, at int64) int { return cmp.Compare(h.to, at) })
		free = without(free, s, held[first:])
	}
	return free
}

// fared notes how a resource, or the lock as a whole, fared in a window.
func (c *Checker) fared(f *Findings, t timeline, w window, live string, stall outage, resource string) {
	if rank(live) > rank(w.worst) {
		live = w.worst
	}
	f.DownLong = f.DownLong || (live == Down && cmp.Or(w.wanted, w.to)-w.from+w.still >= f.failover(w, resource))
	stall.resource = resource
	seen := stall.told(t)
	f.Longest = f.Longest.or(seen)
	c.lengths[resource] = c.lengths[resource].or(seen)
	seen.NS = max(seen.NS, stall.judged)
	switch {
	case rank(live) > rank(f.Liveness):
		f.Liveness, f.Stuck = live, seen
	case live == f.Liveness && resource == f.Stuck.Of:
		f.Stuck = f.Stuck.or(seen)
	}
	c.longest = c.longest.or(stall)
}

// failover is how long a fault lasts at least that tells a lock, or one of its
// resources, that stalls from one that is down: longer than what is gone may keep it.
func (f *Findings) failover(w window, resource string) int64 {
	switch leased := f.Run.LeaseNS + int64(f.Run.Limit(leaseSlack)); {
	case !w.held && resource == "":
		return int64(f.Run.Limit(FailoverTime))
	case w.led && f.Run.LeaseNS > 0:
		return leased + int64(f.Run.Limit(electionTime))
	default:
		return max(int64(f.Run.Limit(FailoverTime)), leased)
	}
}

// want is a time in which somebody alive wanted a resource.
type want struct {
	span
	again          int64 // until when asking again counts as having wanted all along
	node, resource int32
}

// wants of acquisitions are sorted by beginning.
func (c *Checker) wants(acquires []*acquire) []want {
	wants := make([]want, 0, len(acquires))
	var parts []span
	for _, a := range acquires {
		parts = without(parts[:0], span{a.asked(), a.wanted}, c.lives[a.node].away)
		for _, s := range parts {
			w := want{span: s, again: s.to, node: a.node, resource: a.resource}
			if a.outcome != ok && !c.needless(a) && s.to == a.wanted {
				w.again = max(s.to, min(s.to+int64(DemandGap), a.sated))
			}
			wants = append(wants, w)
		}
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.from, b.from) })
	return wants
}

// needless says of one that was not granted that nobody needed it any more.
func (c *Checker) needless(a *acquire) bool {
	return a.served || c.names.text(a.errorKind) == canceledKind
}

// canceledKind is the error of an acquisition whose caller did not want it any more.
const canceledKind = "canceled"

// spansOf merges wants, sorted by beginning, into spans that do not touch.
func spansOf(wants []want) []span {
	whole := merged(wants)
	spans := make([]span, len(whole))
	for i, w := range whole {
		spans[i] = w.span
	}
	return spans
}

// merged makes one of wants, sorted by beginning, that touch. Who was refused and comes back soon has
// wanted it in between.
func merged(wants []want) (all []want) {
	for _, w := range wants {
		if last := len(all) - 1; last >= 0 && w.from <= all[last].again {
			all[last].to = max(all[last].to, w.to)
			all[last].again = max(all[last].again, w.again)
		} else {
			all = append(all, want{span: w.span, again: w.again})
		}
	}
	return all
}

// without appends s without the holes to spans.
func without(spans []span, s span, holes []span) []span {
	for _, hole := range holes {
		if !hole.meets(s) {
			continue
		}
		if s.from < hole.from {
			spans = append(spans, span{s.from, hole.from})
		}
		s.from = hole.to
		if s.from >= s.to {
			return spans
		}
	}
	return append(spans, s)
}

// grantsOf is when acquisitions, sorted by answer, ended ok.
func grantsOf(acquires []*acquire) []int64 {
	grants := make([]int64, 0, len(acquires))
	for _, a := range acquires {
		if a.outcome == ok {
			grants = append(grants, a.at)
		}
	}
	return grants
}

// fare finds the longest stall within the window, counted in time in which
// somebody wanted the lock, and classifies the window.
func (c *Checker) fare(w window, demand []span, grants []int64) (live string, longest outage, wanted bool) {
	live, stall := Live, outage{}
	broken := c.firstFault()
	wait := func(from, to int64) {
		if stall.lasts == 0 {
			stall.from = from
		}
		stall.wait(span{from, to}, broken)
		longest = longest.or(stall)
	}
	last := w.from // that somebody wanted it: what was after that nobody knows
	for _, s := range demand {
		s = span{max(s.from, w.from), min(s.to, w.to)}
		if s.from >= s.to {
			continue
		}
		wanted, last = true, s.to
		since := s.from
		next, _ := slices.BinarySearch(grants, s.from)
		for ; next < len(grants) && grants[next] <= s.to; next++ {
			wait(since, grants[next])
			since, stall = grants[next], outage{}
		}
		wait(since, s.to)
	}
	switch {
	case longest.lasts < c.stallOf(w):
	case stall.lasts >= c.stallOf(w) && stall.lasts*2 >= w.to-w.from && w.to-last < c.stallOf(w): // it lasts until the end
		live = Down
	default:
		live = Stalls
	}
	return live, longest, wanted
}

// within is how much of the gap the spans cover.
func within(gap span, spans []span) (sum int64) {
	first, _ := slices.BinarySearchFunc(spans, gap.from, func(s span, at int64) int { return cmp.Compare(s.to, at) })
	for _, s := range spans[first:] {
		if s.from >= gap.to {
			break
		}
		sum += min(s.to, gap.to) - max(s.from, gap.from)
	}
	return sum
}

func slotOf(f *Findings, at int64) int {
	return int(min(max(at/int64(SlotLength), 0), int64(len(f.Slots))))
}
