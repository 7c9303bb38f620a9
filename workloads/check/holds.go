package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// acquire is one finished acquisition, with the hold that came of it.
type acquire struct {
	from, sent, at, err                 int64
	token, messages, wakeups            uint64
	node, client, resource, errorKind   int32
	outcome                             outcome
	served                              bool // it was not granted, and what it was for had come by another way before
	hold                                string
	wanted, sated                       int64 // until when somebody wanted it; and when what it was for had come, however that came: MaxInt64: not known
	until                               int64 // of the belief of the client that holds
	releasing, released, answered, lost int64 // it stopped acting, as both records of that say, and the lock's answer; MaxInt64: not known
}

// asked is when the client really asked.
func (a *acquire) asked() int64 { return cmp.Or(a.sent, a.from) }

// granted says whether a hold came of it.
func (a *acquire) granted() bool { return a.outcome == ok && a.hold != "" }

// holds says whether it came to a hold that lasted for some time.
func (a *acquire) holds() bool { return a.granted() && a.at < a.until }

// stopped is when the holder stopped acting to release it.
func (a *acquire) stopped() int64 { return min(a.releasing, a.released) }

// holdEnd is one record of the end of a hold, which may stand before its beginning.
type holdEnd struct {
	holdKey
	kind          history.Kind
	resource      int32
	from, at, err int64
}

func (c *Checker) addAcquire(e *history.Event) {
	if len(c.space) == 0 {
		c.space = make([]acquire, 1024)
	}
	a := &c.space[0]
	*a = acquire{
		from: e.FromNS, sent: e.SentNS, at: e.AtNS, err: e.ErrNS, token: e.Token, messages: e.Messages, wakeups: e.Wakeups,
		node: c.names.id(e.Node), client: c.names.id(e.Client), resource: c.names.id(e.Resource), outcome: outcomeOf(e),
		errorKind: c.names.id(e.Error), hold: e.Hold, released: math.MaxInt64, releasing: math.MaxInt64, lost: math.MaxInt64, answered: math.MaxInt64,
		wanted: e.AtNS, sated: math.MaxInt64,
	}
	switch {
	case a.outcome == unsent:
		c.unsent = append(c.unsent, c.op(e))
		return
	case a.granted():
		if c.holds.put(a) {
			c.flaws.add(twice, 1, sentence.Of("the acquisition of hold %s", brief(e.Hold)))
		}
	case a.outcome == ok && c.complete():
		c.flaws.add(missing, 1, sentence.Of("the name of a hold that %s got", brief(e.Client)))
	}
	c.acquires, c.space = push(c.acquires, a), c.space[1:]
}

func (c *Checker) addEnd(e *history.Event) {
	if e.Hold == "" {
		return
	}
	end := holdEnd{holdKey{c.names.id(e.Node), e.Hold}, e.Kind, c.names.id(e.Resource), e.AtNS, e.AtNS, e.ErrNS}
	if e.Kind == history.KindRelease {
		end.from = cmp.Or(e.FromNS, e.AtNS)
		if outcomeOf(e) == unknown {
			end.at = math.MaxInt64
		}
	}
	if !c.endHold(&end) {
		c.ends = push(c.ends, end)
	}
}

// joinHolds brings grants together with the ends that stand before them.
func (c *Checker) joinHolds() {
	for i := range c.ends {
		if e := &c.ends[i]; !c.endHold(e) && c.complete() {
			c.flaws.add(missing, 1, sentence.Of("the acquisition of hold %s", brief(e.id)))
		}
	}
}

// endHold notes the end of a hold, unless its beginning is not on record.
func (c *Checker) endHold(e *holdEnd) (known bool) {
	a := c.holds.get(e.holdKey)
	if a == nil {
		return false
	}
	a.err = max(a.err, e.err)
	if a.resource != e.resource {
		c.flaws.add(misfit, 1, sentence.Of("the hold %s is one of %s, and of %s", brief(e.id), c.name(a.resource), c.name(e.resource)))
	}
	at := &a.lost
	switch e.kind {
	case history.KindReleasing:
		at = &a.releasing
	case history.KindRelease:
		at, a.answered = &a.released, e.at
	default:
	}
	if *at != math.MaxInt64 {
		c.flaws.add(twice, 1, sentence.Of("the %s of hold %s", e.kind, brief(e.id)))
	}
	*at = min(*at, e.from)
	return true
}

// settleHolds says until when each hold was believed, and measures them.
func (c *Checker) settleHolds(f *Findings, t timeline) {
	f.Counts["holds_lost"] = 0 // that there was none is a figure, too
	for _, a := range c.acquires {
		if !a.granted() {
			continue
		}
		a.until = c.believed(a, t)
		f.Holds++
		if a.at >= t.measure {
			f.Hold.add(a.until - a.at)
		}
		if a.at >= t.measure && a.at < t.drain {
			c.measureLoss(f, a)
		}
	}
	slices.SortStableFunc(c.acquires, func(a, b *acquire) int { return cmp.Compare(a.at, b.at) })
	c.resources = c.byResource()
}

// byResource has the acquisitions of each resource that was asked for, in the order of all.
func (c *Checker) byResource() [][]*acquire {
	count, lists := make([]int, len(c.names.list)), make([][]*acquire, len(c.names.list))
	for _, a := range c.acquires {
		count[a.resource]++
	}
	for _, a := range c.acquires {
		list := &lists[a.resource]
		if *list == nil {
			*list = make([]*acquire, 0, count[a.resource])
		}
		*list = append(*list, a)
	}
	return slices.DeleteFunc(lists, func(list []*acquire) bool { return list == nil })
}

// measureLoss counts a hold that its holder noticed to have lost.
func (c *Checker) measureLoss(f *Findings, a *acquire) {
	lost := a.lost < a.stopped()
	if lost {
		f.Counts["holds_lost"]++
	}
	f.Kept.All++
	if !lost || c.run.LeaseNS > 0 && a.lost-a.asked() >= c.run.LeaseNS/2 {
		f.Kept.OK++
	}
}

// believed is until when the client of a grant believed that it holds.
func (c *Checker) believed(a *acquire, t timeline) int64 {
	until := min(a.stopped(), a.lost)
	if until == math.MaxInt64 {
		until = max(t.end, a.at)
	}
	return min(until, c.lives[a.node].aliveUntil(a.at))
}

// checkOverlaps looks at each resource apart.
func (c *Checker) checkOverlaps(f *Findings, t timeline) {
	var holds []*acquire
	for _, own := range c.resources {
		holds = holds[:0]
		for _, a := range own {
			if a.granted() && a.at+a.err < a.until-a.err {
				holds = append(holds, a)
			}
		}
		if len(holds) > 0 {
			c.checkOverlapsOf(f, t, holds)
		}
	}
}

// checkOverlapsOf sweeps over the holds of a resource in the order of their beginning. A hold
// that is believed when another begins is one overlap, however many begin while it is: whether
// it is shows when the next one begins. A hold that begins while any is believed overlaps the
// one that lasts longest of those before.
func (c *Checker) checkOverlapsOf(f *Findings, t timeline, holds []*acquire) {
	slices.SortFunc(holds, func(a, b *acquire) int {
		return cmp.Or(cmp.Compare(a.at+a.err, b.at+b.err), cmp.Compare(a.hold, b.hold)) // the same for any order in the file
	})
	longest := holds[0]
	for i, h := range holds[1:] {
		begins := h.at + h.err
		if begins < longest.until-longest.err {
			f.OverlapHolds++
		}
		if old := holds[i]; begins < old.until-old.err {
			f.Overlaps++
			f.violation(t, h.at)
			c.untouched(f, "overlaps_untouched", h.resource, min(old.asked(), h.asked()), h.at)
			c.example(f, t, sentence.Key("overlap"), c.names.text(h.resource), h.at, func() sentence.Text {
				return sentence.Of("%s on %s got %s while %s on %s held it, and believed so for %s more",
					brief(h.hold), c.name(h.node), c.name(h.resource), brief(old.hold), c.name(old.node), time.Duration(old.until-h.at))
			})
		}
		if h.until-h.err > longest.until-longest.err {
			longest = h
		}
	}
}

// checkTokens wants, of two holds of a resource that followed each other, the higher token for
// the later one.
func (c *Checker) checkTokens(f *Findings, t timeline) {
	var holds []*acquire
	for _, own := range c.resources {
		holds = holds[:0]
		for _, a := range own {
			if a.granted() && a.token > 0 {
				holds = append(holds, a)
			}
		}
		f.Tokens += int64(len(holds))
		c.checkTokensOf(f, t, holds)
	}
}

func (c *Checker) checkTokensOf(f *Findings, t timeline, holds []*acquire) {
	ended := slices.SortedFunc(slices.Values(holds), func(a, b *acquire) int {
		return cmp.Or(cmp.Compare(a.until+a.err, b.until+b.err), cmp.Compare(a.at, b.at))
	})
	slices.SortFunc(holds, func(a, b *acquire) int {
		return cmp.Or(cmp.Compare(a.at-a.err, b.at-b.err), cmp.Compare(a.hold, b.hold)) // the same for any order in the file
	})
	highest := uint64(0) // of the holds that surely ended before h began
	for _, h := range holds {
		for len(ended) > 0 && ended[0] != h && ended[0].until+ended[0].err <= h.at-h.err {
			highest, ended = max(highest, ended[0].token), ended[1:]
		}
		if h.token > highest {
			continue
		}
		f.TokensBroken++
		f.violation(t, h.at)
		c.example(f, t, sentence.Key("token"), c.names.text(h.resource), h.at, func() sentence.Text {
			return sentence.Of("%s got token %d of %s after %d had been granted", c.name(h.client), h.token, c.name(h.resource), highest)
		})
	}
}

// measureAcquires measures the acquisitions, sorted by answer, of the measured part: as with
// requests, those count that were answered after it. Messages are those
// that were sent in it.
func (c *Checker) measureAcquires(f *Findings, t timeline) {
	perClient := map[int32]int64{}
	var sent runningTotals
	var waited []int64 // so far, of those that were called off
	for _, a := range c.acquires {
		if c.opts.Ops {
			f.Acquires = append(f.Acquires, c.opOf(a.asked(), a.at, a.outcome, t))
		}
		answered := a.at >= t.measure && a.at < t.drain
		f.MessagesSent += sent.add(a.node, a.messages, answered)
		if answered && a.outcome == ok {
			f.Granted++
		}
		if !c.counts(a.asked(), a.at, t) {
			continue
		}
		got := int64(0) // who never got it counts too
		switch {
		case a.outcome == ok:
			got = 1
			f.AcquiredOK++
			f.Acquire.add(a.at - a.asked())
		case a.outcome == calledOff:
			waited = append(waited, a.at-a.asked())
		case !c.needless(a):
			f.AcquiredNot++
		}
		perClient[a.client] += got
	}
	f.Acquires = f.Acquire.addWaits(waited, f.Acquires)
	f.HasMessages = sent.known()
	if c.workload().offered { // its masters do not compete by design
		return
	}
	if len(perClient) > 0 {
		f.Fairness, f.fairnessCount = jain(perClient), 1
	}
	c.measurePeers(f, t)
}

// jain is Jain's fairness index, 1 if all got the same (R. Jain, D. Chiu, W. Hawe,
// "A Quantitative Measure of Fairness", DEC-TR-301, 1984).
func jain(got map[int32]int64) float64 {
	sum, squares := 0.0, 0.0
	for _, n := range got {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return ratio(sum*sum, float64(len(got))*squares)
}
