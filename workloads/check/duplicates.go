package check

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/workloads/history"
)

// roomEvent is one record of the oracle.
type roomEvent struct {
	at, err       int64
	room, order   string
	worker, group int32
	state         roomState
}

type roomState uint8

const (
	starting roomState = iota
	open
	full
	closed
)

func roomStateOf(s string) roomState {
	switch s {
	case "starting":
		return starting
	case "open":
		return open
	case "full":
		return full
	}
	return closed // also what we do not know: it accuses nobody
}

// order is a master's decision to create a room.
type order struct {
	from, at, err int64
	sent          int64 // when the looks were over; 0 if the history does not say
	node, hold    string
	worker, room  string
	ok            bool
	unreachable   []string
}

func (c *Checker) addOrder(e *history.Event) {
	c.orders[e.Order] = &order{
		from: e.FromNS, at: e.AtNS, sent: e.SentNS, err: e.ErrNS, node: e.Node, hold: e.Hold, worker: e.Worker, room: e.Room,
		ok: outcomeOf(e) == ok, unreachable: e.Unreachable,
	}
}

// room is one room with its order. Without an order in the history, the order
// counts as the instant of the creation.
type room struct {
	id            string
	worker, group int32
	start         int64
	opened        int64 // end of the starting state
	filled        int64 // 0 if it never was
	free          []span
	err           int64
	order         *order
}

// checkRooms finds the rooms created in vain.
func (c *Checker) checkRooms(f *Findings, t timeline) {
	rooms := c.buildRooms()
	var group []*freeRoom // the rooms of the current group that may be free
	var waiting freeHeap  // seats that come back later
	for i, r := range rooms {
		if i == 0 || rooms[i-1].group != r.group {
			group, waiting = group[:0], waiting[:0]
		}
		if r.start >= t.measure {
			f.RoomsCreated++
			if r.filled > 0 {
				f.Fill.add(r.filled - min(r.opened, r.filled))
			}
		}
		for len(waiting) > 0 && waiting[0].span.from <= r.start {
			group = append(group, waiting.pop())
		}
		var worst cause
		var other *room
		var doubt bool
		group, worst, other, doubt = c.compare(r, group)
		if doubt && worst <= unreachable {
			f.Doubts.Rooms++
		}
		for n, s := range r.free {
			part := &freeRoom{room: r, span: s, again: n > 0}
			if n == 0 {
				group = append(group, part)
			} else {
				waiting.push(part)
			}
		}
		if worst == none {
			continue
		}
		if worst > unreachable {
			f.violation(t, r.start)
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
		c.example(f, t, worst.String(), c.names.text(r.group), r.start, func() string {
			return fmt.Sprintf("room %s of %s was created on %s while %s on %s was free: %s",
				r.id, c.names.text(r.group), c.names.text(r.worker), other.id, c.names.text(other.worker), worst)
		})
	}
}

// freeRoom is a room for a time in which it has a free seat.
type freeRoom struct {
	room  *room
	span  span
	again bool // it had been full before
}

// enough is how many free rooms a new one is compared with once it is known that
// the lock should have prevented it. More could only change its label.
const enough = 64

// compare finds the worst cause among the rooms that are free when r is created,
// newest first, and drops those that are free no more. Doubt says that one of them
// would be worse if the clocks were off by as much as they may be.
func (c *Checker) compare(r *room, group []*freeRoom) (left []*freeRoom, worst cause, other *room, doubt bool) {
	keep, seen := len(group), 0
	for i, o := range slices.Backward(group) {
		if o.span.to <= r.start {
			continue
		}
		keep--
		group[keep] = o
		pair, possible := c.cause(r, o)
		if !surelyFree(r, o) {
			doubt = doubt || possible > unreachable
			continue
		}
		doubt = doubt || possible > unreachable && pair <= unreachable
		if pair > worst {
			worst, other = pair, o.room
		}
		if seen++; worst == raced || (worst == overlooked && seen >= enough) {
			return append(group[:i], group[keep:]...), worst, other, doubt
		}
	}
	return append(group[:0], group[keep:]...), worst, other, doubt
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
func (c *Checker) cause(r *room, o *freeRoom) (least, possible cause) {
	ours, theirs := r.ordered(), o.room.ordered()
	sameHold := r.order != nil && o.room.order != nil && r.order.hold != "" &&
		r.order.hold == o.room.order.hold && r.order.node == o.room.order.node
	slack := r.orderedErr() + o.room.orderedErr()
	if !sameHold && ours.from < theirs.to-slack && theirs.from < ours.to-slack {
		return raced, raced
	}
	inTime := o.span.from <= ours.from // for the look to see it
	least = c.causeIf(inTime, sameHold, r, o)
	possible = least
	if between := o.span.from - ours.from; max(between, -between) < r.orderedErr()+o.room.err {
		other := c.causeIf(!inTime, sameHold, r, o)
		least, possible = min(least, other), max(possible, other)
	}
	if !sameHold && ours.from < theirs.to && theirs.from < ours.to {
		possible = raced
	}
	return least, possible
}

// causeIf judges a pair whose orders do not overlap.
func (c *Checker) causeIf(inTime, sameHold bool, r *room, o *freeRoom) cause {
	if !inTime { // the look was too early to see it
		switch {
		case o.again:
			return none // the seat came back after the look: nobody's fault
		case c.lostTrack(r) || c.lostTrack(o.room):
			return unreachable
		case sameHold:
			return overlooked
		}
		return raced
	}
	if r.order != nil {
		worker := c.names.text(o.room.worker)
		if slices.Contains(r.order.unreachable, worker) && c.cut(r.order.node, worker, r.ordered(), cmp.Or(r.order.sent, r.order.at)-r.order.from) {
			return unreachable
		}
	}
	if o.room.opened > r.start {
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
func (c *Checker) lostTrack(r *room) bool {
	return r.order != nil && !r.order.ok &&
		c.cut(r.order.node, c.names.text(r.worker), span{r.order.from, max(r.order.at, r.order.from)}, r.order.at-cmp.Or(r.order.sent, r.order.from))
}

// buildRooms makes rooms of the oracle's records, by group and creation.
func (c *Checker) buildRooms() []*room {
	slices.SortStableFunc(c.rooms, func(a, b roomEvent) int {
		if a.worker != b.worker { // one by one: comparing the names costs most
			return cmp.Compare(a.worker, b.worker)
		}
		if order := cmp.Compare(a.room, b.room); order != 0 {
			return order
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.state, b.state))
	})
	deaths := c.deaths()
	var rooms []*room
	for i := 0; i < len(c.rooms); {
		first := c.rooms[i]
		n := i + 1
		// A worker that lost its memory may use a name again: a second creation is
		// another room.
		for n < len(c.rooms) && c.rooms[n].room == first.room && c.rooms[n].worker == first.worker && c.rooms[n].state != starting {
			n++
		}
		if first.state == starting || first.state == open { // else its beginning is not in the file
			rooms = append(rooms, c.buildRoom(c.rooms[i:n], aliveUntil(deaths[first.worker], first.at)))
		}
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

func (c *Checker) buildRoom(events []roomEvent, death int64) *room {
	first := events[0]
	r := &room{
		id: first.room, worker: first.worker, group: first.group, start: first.at, opened: death, err: first.err,
		order: c.orders[first.order],
	}
	since, isFree := first.at, true
	for _, e := range events {
		switch e.state {
		case starting, open:
			if e.state == open {
				r.opened = min(r.opened, e.at)
			}
			if !isFree {
				since, isFree = e.at, true
			}
		case full, closed:
			if e.state == full && r.filled == 0 {
				r.filled = e.at
			}
			r.opened = min(r.opened, e.at)
			if isFree {
				r.free = append(r.free, span{since, min(e.at, death)})
				isFree = false
			}
		}
	}
	if isFree {
		r.free = append(r.free, span{since, death})
	}
	return r
}

// freeHeap orders free rooms by when they are free again.
type freeHeap []*freeRoom

func (h *freeHeap) push(o *freeRoom) {
	*h = append(*h, o)
	for i := len(*h) - 1; i > 0; {
		parent := (i - 1) / 2
		if (*h)[parent].span.from <= (*h)[i].span.from {
			return
		}
		(*h)[parent], (*h)[i] = (*h)[i], (*h)[parent]
		i = parent
	}
}

func (h *freeHeap) pop() *freeRoom {
	old := *h
	top, last := old[0], len(old)-1
	old[0] = old[last]
	*h = old[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if old[child].span.from < old[least].span.from {
				least = child
			}
		}
		if least == i {
			return top
		}
		old[i], old[least] = old[least], old[i]
		i = least
	}
}
