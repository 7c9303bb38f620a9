package check

import (
	"cmp"
	"slices"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// roomEvent is one record of the oracle.
type roomEvent struct {
	at, err       int64
	room, order   string
	worker, group int32
	by            int32 // the master that ordered it
	state         roomState
}

type roomState uint8

const (
	starting roomState = iota
	open
	full
	closed
	otherState
)

func roomStateOf(s string) roomState {
	switch s {
	case "starting":
		return starting
	case "open":
		return open
	case "full":
		return full
	case "closed":
		return closed
	}
	return otherState
}

// order is a master's decision to create a room.
type order struct {
	from, at, err int64
	sent          int64 // when the looks were over; 0 if the history does not say
	holdKey             // under which it was made
	room          string
	worker, group int32
	ok            bool
	unreachable   []string
}

func (c *matchmaking) addOrder(e *history.Event) {
	if c.orders[e.Order] != nil {
		c.flaws.add(twice, 1, sentence.Of("the order %s", brief(e.Order)))
	}
	c.orders[e.Order] = &order{
		from: e.FromNS, at: e.AtNS, sent: e.SentNS, err: e.ErrNS, holdKey: holdKey{c.names.id(e.Node), e.Hold},
		room: e.Room, worker: c.names.id(e.Worker), group: c.names.id(e.Resource),
		ok: outcomeOf(e) == ok, unreachable: e.Unreachable,
	}
}

// room is one room with its order. Without an order in the history, the order
// counts as the instant of the creation.
type room struct {
	id             string
	worker, group  int32
	by             int32 // the master that ordered it
	start          int64
	opened         int64 // end of the starting state
	filled, closed int64 // 0 if it never was
	headless       bool  // its beginning is missing
	until          int64 // it was full, closed or gone
	err            int64
	order          *order
}

// Duplicate is a room that was created in vain.
type Duplicate struct {
	Room, Other string // Other took players then
	Cause       string // raced, overlooked or unreachable
	AtNS        int64  // on the clock of the run
}

// Duplicates judges the rooms that were added as Findings does, and nothing else: for who
// looks at a run that goes on. What is not known yet, such as the order of a room that was
// just begun, can change the judgement. The checker must not be used afterwards.
func (c *Checker) Duplicates() (found []Duplicate) {
	rooms, is := c.part().(*matchmaking)
	if !is {
		return nil
	}
	c.settleLives()
	c.widen(&Findings{})
	rooms.built = rooms.buildRooms()
	rooms.eachRoom(func(r *room, worst cause, other *room, _, _ bool) {
		if worst > none {
			found = append(found, Duplicate{Room: r.id, Other: other.id, Cause: worst.String(), AtNS: r.start})
		}
	})
	return found
}

// eachRoom passes on every room whose beginning is known with what comparing it found.
func (c *matchmaking) eachRoom(do func(r *room, worst cause, other *room, doubt, untold bool)) {
	var group []*room // the rooms of the current group that may be free
	for i, r := range c.built {
		if i == 0 || c.built[i-1].group != r.group {
			group = group[:0]
		}
		if r.headless {
			continue
		}
		var worst cause
		var other *room
		var doubt, untold bool
		group, worst, other, doubt, untold = c.compare(r, group)
		group = append(group, r)
		do(r, worst, other, doubt, untold)
	}
}

// checkRooms finds the rooms created in vain.
func (c *matchmaking) checkRooms(f *Findings, t timeline) {
	c.eachRoom(func(r *room, worst cause, other *room, doubt, untold bool) {
		if r.start >= t.measure {
			f.RoomsCreated++
			if r.filled > 0 {
				f.Fill.add(r.filled - min(r.opened, r.filled))
			}
		}
		if doubt && worst <= unreachable {
			f.Doubts.Rooms++
			if untold {
				f.Doubts.Untold++
			}
		}
		if worst == none {
			return
		}
		if worst > unreachable {
			f.violation(t, r.start)
			c.untouched(f, "duplicates_untouched", r.group, min(r.ordered().from, other.ordered().from), r.start)
		}
		count := &f.Duplicates
		if r.start < t.measure {
			count = &f.WarmupDuplicates
		}
		switch worst {
		case raced:
			count.Raced++
		case overlooked:
			count.Overlooked++
		case unreachable, none:
			count.Unreachable++
		}
		c.example(f, t, worst.String(), c.names.text(r.group), r.start, func() sentence.Text {
			if other.opened > r.start {
				return sentence.Of("room %s of %s was created on %s while %s on %s was starting: %s",
					brief(r.id), c.name(r.group), c.name(r.worker), brief(other.id), c.name(other.worker), sentence.Term(worst.String()))
			}
			return sentence.Of("room %s of %s was created on %s while %s on %s was free: %s",
				brief(r.id), c.name(r.group), c.name(r.worker), brief(other.id), c.name(other.worker), sentence.Term(worst.String()))
		})
	})
}

// enough is how many free rooms a new one is compared with once it is known that
// the lock should have prevented it. More could only change its label.
const enough = 64

// compare finds the worst cause among the rooms that are free when r is created,
// newest first, and drops those that are free no more. Doubt says that one of them
// would be worse if the clocks were off by as much as they may be, or, untold, if it was
// full by what its worker could not say any more.
func (c *matchmaking) compare(r *room, group []*room) (left []*room, worst cause, other *room, doubt, untold bool) {
	keep, seen := len(group), 0
	for i, o := range slices.Backward(group) {
		if o.until <= r.start {
			continue
		}
		keep--
		group[keep] = o
		pair, possible := c.cause(r, o)
		if died := c.untold(r, o); died || !surelyFree(r, o) {
			untold = untold || died && possible > unreachable
			doubt = doubt || possible > unreachable
			continue
		}
		doubt = doubt || possible > unreachable && pair <= unreachable
		if pair > worst {
			worst, other = pair, o
		}
		if seen++; worst == raced || (worst == overlooked && seen >= enough) {
			return append(group[:i], group[keep:]...), worst, other, doubt, untold
		}
	}
	return append(group[:0], group[keep:]...), worst, other, doubt, untold
}

// untold says that o may have been full when r was created: its worker died soon after,
// and may not have been able to say so. What it records later, it records after that.
func (c *matchmaking) untold(r, o *room) bool {
	return o.filled == 0 && c.dying(o.worker, r.start) && c.told[c.lifeAt(o.worker, r.start)] <= r.start+r.err+o.err
}

// workerLife is one life of a worker, known by how it ends.
type workerLife struct {
	worker int32
	end    int64
}

func (c *matchmaking) lifeAt(worker int32, at int64) workerLife {
	return workerLife{worker, c.lives[worker].next(at).seen}
}

// cause is why a room was created although another one was free; the worst last.
type cause uint8

const (
	none cause = iota
	unreachable
	overlooked
	raced
)

func (c cause) String() string { return [...]string{"none", "unreachable", "overlooked", "raced"}[c] }

// cause judges one pair: o was free when r was created. See the package's doc. It
// is the least that the clocks' error bounds allow for; possible is the worst.
func (c *matchmaking) cause(r *room, o *room) (least, possible cause) {
	ours, theirs := r.ordered(), o.ordered()
	if c.late(r) {
		return unreachable, unreachable
	}
	sameHold := r.order != nil && o.order != nil && r.order.id != "" && r.order.holdKey == o.order.holdKey
	slack := r.orderedErr() + o.orderedErr()
	if !sameHold && !c.late(o) && ours.from < theirs.to-slack && theirs.from < ours.to-slack {
		return raced, raced
	}
	inTime := o.start <= ours.from // for the look to see it
	least = c.causeIf(inTime, sameHold, r, o)
	possible = least
	if between := o.start - ours.from; max(between, -between) < r.orderedErr()+o.err {
		other := c.causeIf(!inTime, sameHold, r, o)
		least, possible = min(least, other), max(possible, other)
	}
	if !sameHold && !c.late(o) && ours.from < theirs.to && theirs.from < ours.to {
		possible = raced
	}
	return least, possible
}

// causeIf judges a pair whose orders do not overlap.
func (c *matchmaking) causeIf(inTime, sameHold bool, r *room, o *room) cause {
	if !inTime { // the look was too early to see it
		switch {
		case c.late(o) || c.lostTrack(r) || c.lostTrack(o):
			return unreachable
		case sameHold:
			return overlooked
		}
		return raced
	}
	if r.order == nil && c.cutOff(r, o.worker) {
		return unreachable // whatever its master saw, which died
	}
	if r.order != nil && slices.Contains(r.order.unreachable, c.names.text(o.worker)) &&
		c.cut(r.order.node, o.worker, r.ordered(), cmp.Or(r.order.sent, r.order.at)-r.order.from) {
		return unreachable
	}
	if o.opened > r.start {
		return raced
	}
	return overlooked
}

// ordered is from the look until the answer.
func (r *room) ordered() span {
	if r.order == nil {
		return span{r.start, r.start}
	}
	return span{r.order.from, r.order.at}
}

// orderedErr is the error bound of [room.ordered]: that of the master's clock.
func (r *room) orderedErr() int64 {
	if r.order == nil {
		return r.err
	}
	return r.order.err
}

// lostTrack says whether the master could not know what became of its order,
// because a fault cut it off from the worker.
func (c *matchmaking) lostTrack(r *room) bool {
	if r.order == nil {
		return c.cutOff(r, r.worker)
	}
	return !r.order.ok && c.cut(r.order.node, r.worker, span{r.order.from, max(r.order.at, r.order.from)}, r.order.at-cmp.Or(r.order.sent, r.order.from))
}

// cutOff says whether a fault may have cut the master of a room, whose order is not on
// record, off from a worker.
func (c *matchmaking) cutOff(r *room, worker int32) bool {
	return c.cut(r.by, worker, span{r.start - int64(c.run.Limit(orderTime)), r.start}, 0)
}

// late says that the order of a room, which is not on record, arrived after its master had been killed.
func (c *matchmaking) late(r *room) bool {
	return r.order == nil && slices.ContainsFunc(c.lives[r.by].deaths, func(d death) bool { return d.seen < r.start+r.err })
}

// buildRooms makes rooms of the oracle's records, by group and creation.
func (c *matchmaking) buildRooms() []*room {
	slices.SortStableFunc(c.rooms, func(a, b roomEvent) int {
		if a.worker != b.worker { // one by one: comparing the names costs most
			return cmp.Compare(a.worker, b.worker)
		}
		if order := cmp.Compare(a.room, b.room); order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.state, b.state))
	})
	var rooms []*room
	c.told = map[workerLife]int64{}
	for _, e := range c.rooms {
		l := c.lifeAt(e.worker, e.at)
		c.told[l] = max(c.told[l], e.at)
	}
	for i := 0; i < len(c.rooms); {
		first := c.rooms[i]
		n := i + 1
		for n < len(c.rooms) && c.rooms[n].room == first.room && c.rooms[n].worker == first.worker {
			n++
		}
		rooms = append(rooms, c.buildRoom(c.rooms[i:n], c.lives[first.worker].aliveUntil(first.at)))
		i = n
	}
	slices.SortFunc(rooms, func(a, b *room) int {
		if a.group != b.group || a.start != b.start {
			return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.start, b.start))
		}
		// Not by number: that depends on the order of the file.
		return cmp.Or(cmp.Compare(c.names.text(a.worker), c.names.text(b.worker)), cmp.Compare(a.id, b.id))
	})
	return rooms
}

// buildRoom makes a room of its records, in the order of time: starting, open, full,
// closed. Each stands once; all but the first may be missing.
func (c *matchmaking) buildRoom(events []roomEvent, death int64) *room {
	first := events[0]
	r := &room{
		id: first.room, worker: first.worker, group: first.group, by: first.by, start: first.at, opened: death, until: death, err: first.err,
		headless: first.state != starting, order: c.orders[first.order],
	}
	if r.headless {
		c.flaws.add(headless, 1, sentence.Of("room %s of %s", brief(r.id), c.name(r.group)))
	}
	for i, e := range events {
		if i > 0 {
			c.checkStep(&events[i-1], &e)
		}
		r.err = max(r.err, e.err)
		switch e.state {
		case open:
			r.opened = min(r.opened, e.at)
		case full:
			r.filled = e.at
		case closed:
			r.closed = e.at
		case starting, otherState:
		}
		if e.state == full || e.state == closed {
			r.opened, r.until = min(r.opened, e.at), min(r.until, e.at)
		}
	}
	return r
}

// checkStep wants each state of a room after those that come before it.
func (c *matchmaking) checkStep(before, e *roomEvent) {
	switch {
	case e.state == before.state:
		c.flaws.add(twice, 1, sentence.Of("that room %s was %s", brief(e.room), e.state))
	case e.state < before.state || e.state == otherState:
		c.flaws.add(misfit, 1, sentence.Of("room %s was %s after it was %s", brief(e.room), e.state, before.state))
	case e.group != before.group || e.order != before.order:
		c.flaws.add(misfit, 1, sentence.Of("room %s is one of %s, and of %s", brief(e.room), c.name(before.group), c.name(e.group)))
	}
}

func (s roomState) String() string {
	return [...]string{"starting", "open", "full", "closed", "in a state that no room has"}[s]
}
