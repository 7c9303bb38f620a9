package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"locklab/workloads/history"
)

// lockRecord is what clients believed of the lock.
type lockRecord struct {
	acquires []acquire
	holds    []hold
	// half has the holds of which only the beginning or only the end is known yet.
	// It stays small where the file is nearly in order, and so stays in the cache.
	half map[holdKey]int32
}

// acquire is one finished acquisition.
type acquire struct {
	from, sent, at, err    int64
	token, messages        uint64
	node, client, resource int32
	errorKind              int32
	outcome                outcome
}

// asked is when the client really asked.
func (a *acquire) asked() int64 {
	if a.sent > 0 {
		return a.sent
	}
	return a.from
}

type holdKey struct {
	node int32
	id   string
}

// hold is one grant as its client believed it.
type hold struct {
	from, to, err  int64 // to: when it was released or lost, MaxInt64 if it is not known to be
	id             string
	node, resource int32
	granted        bool // its acquisition is in the history
}

// hold finds the record of the event's hold, or starts one; complete says that the
// record has its other half with this event.
func (c *Checker) hold(e *history.Event, complete func(*hold) bool) *hold {
	key := holdKey{c.names.id(e.Node), e.Hold}
	i, known := c.locks.half[key]
	if !known {
		i = int32(len(c.locks.holds)) //nolint:gosec // far below
		c.locks.half[key] = i
		c.locks.holds = append(c.locks.holds, hold{id: e.Hold, node: key.node, to: math.MaxInt64})
	}
	h := &c.locks.holds[i]
	h.err = max(h.err, e.ErrNS)
	if complete(h) {
		delete(c.locks.half, key)
	}
	return h
}

func (c *Checker) addAcquire(e *history.Event) {
	a := acquire{
		from: e.FromNS, sent: e.SentNS, at: e.AtNS, err: e.ErrNS, token: e.Token, messages: e.Messages,
		node: c.names.id(e.Node), client: c.names.id(e.Client), resource: c.names.id(e.Resource), outcome: outcomeOf(e),
		errorKind: c.names.id(e.Error),
	}
	if a.outcome == unsent {
		return
	}
	c.locks.acquires = append(c.locks.acquires, a)
	if a.outcome == ok && e.Hold != "" {
		h := c.hold(e, func(h *hold) bool { return h.to != math.MaxInt64 })
		h.from, h.resource, h.granted = e.AtNS, a.resource, true
	}
}

func (c *Checker) addRelease(e *history.Event) {
	if e.Hold == "" {
		return
	}
	stopped := e.AtNS
	if e.Kind == history.KindRelease && e.FromNS > 0 {
		stopped = e.FromNS
	}
	// A loss is usually followed by a release, and what is sent by its answer, so
	// these do not complete the record.
	h := c.hold(e, func(h *hold) bool { return h.granted && e.Kind == history.KindRelease })
	h.to = min(h.to, stopped)
}

// joinHolds brings together what belongs to one hold and was recorded apart,
// because the record had been complete before its last event came.
func (c *Checker) joinHolds() {
	rest := map[holdKey]*hold{}
	for _, i := range c.locks.half {
		if h := &c.locks.holds[i]; !h.granted {
			rest[holdKey{h.node, h.id}] = h
		}
	}
	if len(rest) == 0 {
		return
	}
	for i := range c.locks.holds {
		h := &c.locks.holds[i]
		if other := rest[holdKey{h.node, h.id}]; other != nil && h.granted {
			h.to, h.err = min(h.to, other.to), max(h.err, other.err)
		}
	}
}

// checkHolds finds holds that overlap and tokens that do not grow, and measures
// acquisitions and holds.
func (c *Checker) checkHolds(f *Findings, t timeline) {
	deaths := c.deaths()
	for i := range c.locks.holds {
		h := &c.locks.holds[i]
		if !h.granted {
			continue
		}
		if h.to == math.MaxInt64 {
			h.to = max(t.end, h.from)
		}
		h.to = min(h.to, aliveUntil(deaths[h.node], h.from))
		f.Holds++
		if h.from >= t.measure {
			f.Hold.add(h.to - h.from)
		}
	}
	c.checkOverlaps(f, t)
	slices.SortStableFunc(c.locks.acquires, func(a, b acquire) int { return cmp.Compare(a.at, b.at) })
	c.checkTokens(f, t)
	c.measureAcquires(f, t)
}

// checkOverlaps looks at each resource apart.
func (c *Checker) checkOverlaps(f *Findings, t timeline) {
	byResource := map[int32][]*hold{}
	for i := range c.locks.holds {
		if h := &c.locks.holds[i]; h.granted && h.from+h.err < h.to-h.err {
			byResource[h.resource] = append(byResource[h.resource], h)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(byResource)) {
		c.checkOverlapsOf(f, t, byResource[resource])
	}
}

// checkOverlapsOf sweeps over the holds of a resource in the order of their
// beginning. It is enough to remember the hold that lasts longest of those before:
// if a later one overlaps any, it overlaps that one, which is the stale one of the two.
// However many began while one was stale, it is one overlap.
func (c *Checker) checkOverlapsOf(f *Findings, t timeline, holds []*hold) {
	slices.SortFunc(holds, func(a, b *hold) int {
		if a.from+a.err != b.from+b.err {
			return cmp.Compare(a.from+a.err, b.from+b.err)
		}
		return cmp.Compare(a.id, b.id) // any order, but the same for any order in the file
	})
	stale, counted := holds[0], false
	for _, h := range holds[1:] {
		if h.from+h.err < stale.to-stale.err {
			f.OverlapHolds++
			f.violation(t, h.from)
			if !counted {
				f.Overlaps++
				counted = true
			}
			f.ZombieNS = max(f.ZombieNS, stale.to-h.from)
			old := stale
			c.example(f, t, "overlap", c.names.text(h.resource), h.from, func() string {
				return fmt.Sprintf("%s on %s got %s while %s on %s held it, and believed so for %v more",
					h.id, c.names.text(h.node), c.names.text(h.resource), old.id, c.names.text(old.node), time.Duration(old.to-h.from))
			})
		}
		if h.to-h.err > stale.to-stale.err {
			stale, counted = h, false
		}
	}
}

// checkTokens wants the token of an acquisition to be above those of all that were
// answered before it was asked.
func (c *Checker) checkTokens(f *Findings, t timeline) {
	byAnswer := make([]*acquire, 0, len(c.locks.acquires)) // they are sorted by answer
	for i := range c.locks.acquires {
		if a := &c.locks.acquires[i]; a.outcome == ok && a.token > 0 {
			byAnswer = append(byAnswer, a)
		}
	}
	slices.SortStableFunc(byAnswer, func(a, b *acquire) int { return cmp.Compare(a.resource, b.resource) })
	for len(byAnswer) > 0 {
		n := 1
		for n < len(byAnswer) && byAnswer[n].resource == byAnswer[0].resource {
			n++
		}
		c.checkTokensOf(f, t, byAnswer[:n])
		byAnswer = byAnswer[n:]
	}
}

func (c *Checker) checkTokensOf(f *Findings, t timeline, byAnswer []*acquire) {
	byAsked := slices.Clone(byAnswer)
	slices.SortStableFunc(byAsked, func(a, b *acquire) int { return cmp.Compare(a.asked()-a.err, b.asked()-b.err) })
	// An error bound delays when an answer counts; the order by answer stays right
	// as far as the bounds are equal, and errs towards silence where they are not.
	used := make(map[uint64]struct{}, len(byAnswer))
	highest, answered := uint64(0), 0
	for _, a := range byAsked {
		for answered < len(byAnswer) && byAnswer[answered].at+byAnswer[answered].err < a.asked()-a.err {
			highest = max(highest, byAnswer[answered].token)
			answered++
		}
		_, twice := used[a.token]
		used[a.token] = struct{}{}
		if a.token > highest && !twice {
			continue
		}
		f.TokensBroken++
		f.violation(t, a.at)
		before := highest
		c.example(f, t, "token", c.names.text(a.resource), a.at, func() string {
			return fmt.Sprintf("%s got token %d of %s after %d had been granted", c.names.text(a.client), a.token, c.names.text(a.resource), before)
		})
	}
}

// measureAcquires measures the acquisitions of the measured part; they are sorted
// by answer.
func (c *Checker) measureAcquires(f *Findings, t timeline) {
	perClient := map[int32]int64{}
	sent := map[int32]uint64{} // running totals by node
	for i := range c.locks.acquires {
		a := &c.locks.acquires[i]
		previous, known := sent[a.node]
		measured := a.at >= t.measure && a.at < t.drain
		if a.messages > 0 {
			f.HasMessages = true
			sent[a.node] = a.messages
			if measured && known {
				if a.messages < previous { // the node has started anew
					previous = 0
				}
				f.MessagesSent += int64(a.messages - previous) //nolint:gosec // far below
			}
		}
		if !measured {
			continue
		}
		if _, there := perClient[a.client]; !there {
			perClient[a.client] = 0
		}
		if a.sent > 0 {
			f.Queue.add(a.sent - a.from)
		}
		if a.outcome == ok {
			f.AcquiredOK++
			perClient[a.client]++
			f.Acquire.add(a.at - a.asked())
		}
	}
	if c.matches > 0 { // masters of the matchmaking workload do not compete by design
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
