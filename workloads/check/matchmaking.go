package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/sentence"
	"locklab/locks"
	"locklab/workloads/history"
)

// matchmaking is the part of the workload with players and rooms.
type matchmaking struct {
	*Checker
	matches []op
	rooms   []roomEvent
	orders  map[string]*order
	seats   map[string]*seats    // by room
	built   []*room              // of rooms and orders, by group and creation
	told    map[workerLife]int64 // the last record of each
}

// Matchmaking is the workload in which players arrive for groups. A room too many is a
// duplicate.
func Matchmaking() Workload {
	return Workload{Name: history.Matchmaking, offered: true, begin: func(c *Checker) part {
		return &matchmaking{Checker: c, orders: map[string]*order{}, seats: map[string]*seats{}}
	}}
}

func (c *matchmaking) add(e *history.Event) {
	switch e.Kind { //nolint:exhaustive // all others are the checker's
	case history.KindMatch:
		c.addSeat(e)
		c.matches = push(c.matches, c.op(e))
	case history.KindOrder:
		c.addOrder(e)
	case history.KindRoom:
		c.rooms = push(c.rooms, roomEvent{
			at: e.AtNS, err: e.ErrNS, room: e.Room, order: e.Order, by: c.names.id(e.Client),
			worker: c.names.id(e.Node), group: c.names.id(e.Resource), state: roomStateOf(e.State),
		})
	}
}

func (c *matchmaking) eachOp(do func(*op)) {
	for i := range c.matches {
		do(&c.matches[i])
	}
}

// settleWants ends what masters want for a player with the answer to that player. A master may need a
// while more to end its try.
func (c *matchmaking) settleWants(acquires []*acquire) {
	answers := make(map[int64]*op, len(c.matches))
	for i := range c.matches {
		if m := &c.matches[i]; m.player >= 0 && (answers[m.player] == nil || m.at > answers[m.player].at) {
			answers[m.player] = m
		}
	}
	for _, a := range acquires {
		m := answers[playerOf(c.names.text(a.client))]
		if m == nil || m.resource != a.resource || m.outcome == unsent {
			continue
		}
		if m.outcome == ok {
			a.sated = m.at
		}
		if m.at >= a.at {
			continue
		}
		a.wanted = max(m.at, a.asked())
		a.served = a.outcome != ok && m.outcome == ok
	}
}

func (c *matchmaking) records(do func(err *int64, node int32)) {
	for i := range c.rooms {
		do(&c.rooms[i].err, c.rooms[i].worker)
	}
	for _, o := range c.orders {
		do(&o.err, o.node)
	}
}

func (c *matchmaking) judge(f *Findings, t timeline) {
	f.HasRooms, f.Matches = true, f.OK
	c.checkRooms(f, t)
}

func (c *matchmaking) notes(resource string, note func(at int64, tag, state, details, color string)) {
	const roomy = "#d9ead3"
	for _, e := range c.rooms {
		if group := c.names.text(e.group); group == resource {
			note(e.at, "rooms on "+c.name(e.worker), e.state.String(), brief(e.room)+" of "+group, roomy)
		}
	}
}

// seats is what players were told of one room.
type seats struct {
	group, worker  int32
	count          int64
	answered, last int64 // the first answer, and the last one
	sent           int64 // the last request
}

// addSeat notes what a player was told.
func (c *matchmaking) addSeat(e *history.Event) {
	if e.Room == "" || e.Outcome != string(locks.OutcomeOK) {
		return
	}
	s := c.seats[e.Room]
	if s == nil {
		s = &seats{group: c.names.id(e.Resource), worker: c.names.id(e.Worker), answered: e.AtNS}
		c.seats[e.Room] = s
	}
	s.count++
	s.answered, s.last, s.sent = min(s.answered, e.AtNS), max(s.last, e.AtNS), max(s.sent, e.SentNS)
}

// fit compares the records of players, masters and workers.
func (c *matchmaking) fit() {
	c.built = c.buildRooms()
	byName := make(map[string]*room, len(c.built))
	for _, r := range c.built {
		byName[r.id] = r
	}
	for id, s := range c.seats {
		r := byName[id]
		switch {
		case r == nil && !c.dying(s.worker, s.answered):
			c.flaws.add(unknownRoom, s.count, sentence.Of("room %s of %s", brief(id), c.name(s.group)))
		case r == nil, r.headless:
		case r.group != s.group:
			c.flaws.add(misfit, 1, sentence.Of("room %s is one of %s to its worker, and of %s to its players", brief(id), c.name(r.group), c.name(s.group)))
		case r.start-r.err > s.answered:
			c.flaws.add(misfit, 1, sentence.Of("a player had a seat in room %s %s before it began", brief(id), time.Duration(r.start-s.answered)))
		case r.closed > 0 && s.sent > r.closed+r.err:
			c.flaws.add(misfit, 1, sentence.Of("a player got a seat in room %s %s after it was closed", brief(id), time.Duration(s.sent-r.closed)))
		}
	}
	c.checkOrders(byName)
	if c.complete() {
		for _, r := range c.built {
			c.checkRoomIsWhole(r)
		}
	}
}

// checkOrders compares each order with its room, and with the hold that it was under.
func (c *matchmaking) checkOrders(rooms map[string]*room) {
	for id, o := range c.orders {
		switch h := c.holds.get(o.holdKey); {
		case h == nil && c.complete():
			c.flaws.add(missing, 1, sentence.Of("the acquisition of hold %s, under which the order %s was made", cmp.Or(brief(o.id), noName), brief(id)))
		case h == nil:
		case h.at > o.from || h.stopped() < o.at:
			c.flaws.add(misfit, 1, sentence.Of("the order %s was made while its hold %s was not held", brief(id), brief(h.hold)))
		case h.resource != o.group:
			c.flaws.add(misfit, 1, sentence.Of("the order %s is of %s, and its hold of %s", brief(id), c.name(o.group), c.name(h.resource)))
		}
		if !o.ok || o.room == "" {
			continue
		}
		r, sent := rooms[o.room], cmp.Or(o.sent, o.from)
		switch {
		case r == nil && !c.dying(o.worker, o.at):
			c.flaws.add(unknownRoom, 1, sentence.Of("room %s, by order %s", brief(o.room), brief(id)))
		case r == nil, r.headless:
		case r.start+o.err+r.err < sent || r.start > o.at+o.err+r.err:
			c.flaws.add(misfit, 1, sentence.Of("room %s began outside of its order, %s after the master sent it, and the answer came after %s", brief(o.room),
				time.Duration(r.start-sent), time.Duration(o.at-sent)))
		}
	}
}

// checkRoomIsWhole wants the order of a room, that it was full or had time to wait for
// players, and its end.
func (c *matchmaking) checkRoomIsWhole(r *room) {
	stop := c.lives[r.worker].next(r.start)
	told := c.seats[r.id]
	switch {
	case r.headless:
	case r.filled == 0 && told != nil && c.run.Seats > 0 && told.count >= int64(c.run.Seats) && !c.dying(r.worker, told.last):
		c.flaws.add(missing, 1, sentence.Of("room %s was never full, and yet %d players got a seat in it", brief(r.id), told.count))
	case r.closed == 0 && stop.inOrder():
		c.flaws.add(missing, 1, sentence.Of("the end of room %s, whose worker was stopped in order", brief(r.id)))
	case r.closed > 0 && r.filled == 0 && r.closed-r.start < maxOpen && r.closed < stop.from-2*r.err:
		c.flaws.add(missing, 1, sentence.Of("room %s was closed, but never full", brief(r.id)))
	}
	if r.order == nil && !c.late(r) && !c.cutShort(r.by, r.start) {
		c.flaws.add(missing, 1, sentence.Of("the order of room %s", brief(r.id)))
	}
}

// whole wants each player of the schedule once: they are numbered.
func (c *matchmaking) whole(own bool) {
	switch {
	case own && len(c.matches) == 0:
		c.flaws.add(missing, 1, sentence.Of("all matches"))
	case !own && len(c.matches) > 0:
		c.flaws.add(misfit, int64(len(c.matches)), sentence.Of("matches in the workload %s", c.run.Workload))
		return
	}
	var skipped int64
	var players []int64
	for i := range c.matches {
		m := &c.matches[i]
		if m.outcome == unsent {
			skipped += m.count
		} else if m.player >= 0 {
			players = append(players, m.player)
		}
	}
	slices.Sort(players)
	for n := 1; n < len(players); n++ {
		if players[n] == players[n-1] {
			c.flaws.add(twice, 1, sentence.Of("the match of player p%d", players[n]))
		}
	}
	if players = slices.Compact(players); len(players) == 0 {
		return
	}
	last := players[len(players)-1]
	if gone := last + 1 - skipped - int64(len(players)); gone > 0 {
		c.flaws.add(missing, gone, sentence.Of("the matches of some of the players p0 to p%d", last))
	}
}

// playerOf is the number of a player; -1 if it has none.
func playerOf(client string) int64 {
	number, is := strings.CutPrefix(client, "p")
	n, err := strconv.ParseInt(number, 10, 64)
	if !is || err != nil || n < 0 {
		return -1
	}
	return n
}
