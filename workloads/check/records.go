package check

import (
	"fmt"
	"time"

	"locklab/locks"
	"locklab/workloads/history"
)

// The records of one run must fit each other: what a player was told of a room, what a
// master knows of its order, what the worker recorded. Where they do not, one of them
// is wrong, and nobody can say which: a lock is neither convicted nor acquitted by it.

// seats is what players were told of one room.
type seats struct {
	group, worker int32
	count         int64
	answered      int64 // the first answer
	sent          int64 // the last request
}

// record is what the oracle knows of one room.
type record struct {
	group, worker    int32
	began, closed    int64 // closed: 0 if it never was
	err              int64
	headless, reused bool // its beginning is missing; its name was used again
}

// lastWords is how long before its death a process may have done what it could not
// record any more.
const lastWords = int64(time.Second)

// addSeat notes what a player was told.
func (c *Checker) addSeat(e *history.Event) {
	if e.Room == "" || e.Outcome != string(locks.OutcomeOK) {
		return
	}
	s := c.seats[e.Room]
	if s == nil {
		s = &seats{group: c.names.id(e.Resource), worker: c.names.id(e.Worker), answered: e.AtNS}
		c.seats[e.Room] = s
	}
	s.count++
	s.answered, s.sent = min(s.answered, e.AtNS), max(s.sent, e.SentNS)
}

// contradiction counts what does not fit, with the first of it.
type contradiction struct {
	n       int64
	example string
}

func (d *contradiction) add(n int64, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.n == 0 || text < d.example { // the same for any order
		d.example = text
	}
	d.n += n
}

// checkRecords compares the records; the rooms are sorted by name and time.
func (c *Checker) checkRecords(f *Findings) {
	rooms := c.roomRecords()
	deaths := c.deaths()
	var unknown, headless, misfits contradiction
	for id, r := range rooms {
		if r.headless {
			headless.add(1, "%s of %s", id, c.names.text(r.group))
		}
	}
	dying := func(worker int32, at int64) bool { return aliveUntil(deaths[worker], at)-lastWords <= at }
	for id, s := range c.seats {
		r, known := rooms[id]
		switch {
		case !known && !dying(s.worker, s.answered):
			unknown.add(s.count, "%s of %s", id, c.names.text(s.group))
		case !known, r.reused, r.headless:
		case r.group != s.group:
			misfits.add(1, "room %s is one of %s to its worker, and of %s to its players", id, c.names.text(r.group), c.names.text(s.group))
		case r.began-r.err > s.answered:
			misfits.add(1, "a player had a seat in room %s %v before it began", id, time.Duration(r.began-s.answered))
		case r.closed > 0 && s.sent > r.closed+r.err:
			misfits.add(1, "a player got a seat in room %s %v after it was closed", id, time.Duration(s.sent-r.closed))
		}
	}
	c.checkOrders(rooms, dying, &unknown, &misfits)
	for _, d := range []struct {
		*contradiction
		what string
	}{
		{&unknown, "%d matches and orders name rooms that the oracle does not know, such as %s"},
		{&headless, "the oracle has no beginning of %d rooms, such as %s"},
		{&misfits, "the records contradict each other %d times: %s"},
	} {
		if d.n > 0 {
			f.Contradictions = append(f.Contradictions, fmt.Sprintf(d.what, d.n, d.example))
		}
	}
	for _, p := range c.run.Planned {
		if _, known := c.faults[p.ID]; !known {
			f.Contradictions = append(f.Contradictions, fmt.Sprintf("the scenario asks for the fault %s (%s on %s), which the ledger does not have", p.ID, p.Fault, p.Target))
		}
	}
}

// checkOrders looks for the room of every order that was answered.
func (c *Checker) checkOrders(rooms map[string]record, dying func(int32, int64) bool, unknown, misfits *contradiction) {
	for id, o := range c.orders {
		if !o.ok || o.room == "" {
			continue
		}
		r, known := rooms[o.room]
		slack := o.err + r.err
		switch {
		case !known && !dying(c.names.id(o.worker), o.at):
			unknown.add(1, "%s, by order %s", o.room, id)
		case !known, r.reused, r.headless:
		case r.began+slack < o.from || r.began > o.at+slack:
			misfits.add(1, "room %s began outside of its order, %v after the master looked, and the answer came after %v", o.room,
				time.Duration(r.began-o.from), time.Duration(o.at-o.from))
		}
	}
}

// roomRecords is what the oracle knows, by room.
func (c *Checker) roomRecords() map[string]record {
	rooms := map[string]record{}
	for _, e := range c.rooms {
		r, known := rooms[e.room]
		switch {
		case !known:
			r = record{group: e.group, worker: e.worker, began: e.at, headless: e.state != starting}
		case e.state == starting:
			r.reused = true
		}
		r.err = max(r.err, e.err)
		if e.state == closed {
			r.closed = e.at
		}
		rooms[e.room] = r
	}
	return rooms
}
