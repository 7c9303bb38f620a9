package safety

import (
	"cmp"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// room is one room, from its creation until it was full, closed or gone.
type room struct {
	start, until, err         int64
	id, worker, group, master record.Name
	order                     *record.Order // nil: not on record
}

// rooms finds the duplicates: rooms whose creation began while another one of their group was
// starting or had a free seat.
func (j *judge) rooms() {
	for group := range record.Groups(j.buildRooms(), func(r *room) record.Name { return r.group }) {
		free := make([]*room, 0, len(group))
		for i := range group {
			free = append(j.compare(&group[i], free), &group[i])
		}
	}
}

// buildRooms makes rooms of their workers' records, sorted by group and creation.
func (j *judge) buildRooms() (rooms []room) {
	orders, known := make([]*record.Order, len(j.Names)), make([]int, len(j.Names)) // by name; known counts from 1
	for i := range j.Orders {
		orders[j.Orders[i].ID] = &j.Orders[i]
	}
	orders[0] = nil
	for i := range j.Rooms {
		e := &j.Rooms[i]
		if known[e.Room] == 0 {
			rooms = append(rooms, room{start: record.Never, until: record.Never, id: e.Room})
			known[e.Room] = len(rooms)
		}
		r := &rooms[known[e.Room]-1]
		r.err = max(r.err, e.Err)
		if e.At < r.start {
			r.start, r.worker, r.group, r.master, r.order = e.At, e.Worker, e.Resource, e.Client, orders[e.Order]
		}
		if e.State == record.RoomFull || e.State == record.RoomClosed {
			r.until = min(r.until, e.At)
		}
	}
	for i := range rooms {
		r := &rooms[i]
		for _, at := range j.killed[r.worker] {
			if at >= r.start {
				r.until = min(r.until, at)
			}
		}
	}
	slices.SortFunc(rooms, func(a, b room) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.start, b.start), cmp.Compare(a.id, b.id))
	})
	return rooms
}

// compare judges a room by the earlier ones of its group that may be free, the newest first, and
// returns them without those that are free no more. One that counts ends the search.
func (j *judge) compare(r *room, earlier []*room) (left []*room) {
	doubt, excused, keep := false, (*room)(nil), len(earlier)
	for i, o := range slices.Backward(earlier) {
		if o.until <= r.start {
			continue
		}
		keep--
		earlier[keep] = o
		switch {
		case j.arrivedLate(r) || j.arrivedLate(o) && r.order != nil && r.order.From < o.start || j.apart(r, o):
			excused = cmp.Or(excused, o)
		case o.until-o.err <= r.start+r.err:
			doubt = true
		default:
			j.violation(result.Duplicates, r.start, r.group, j.ordered(o), j.ordered(r))
			return append(earlier[:i], earlier[keep:]...)
		}
	}
	switch {
	case doubt:
		j.row.Figures["in_doubt"]++
	case excused != nil:
		j.row.Figures["unreachable"]++
		j.found = append(j.found, found{result.Duplicates, r.start, r.group, true, j.ordered(excused), j.ordered(r)})
	}
	return append(earlier[:0], earlier[keep:]...)
}

// arrivedLate says that the order of a room arrived after its master had been killed. The first room of
// two may be so as well: if it began after the look of the second's master, that could not see it.
func (j *judge) arrivedLate(r *room) bool {
	return r.order == nil && slices.ContainsFunc(j.killed[r.master], func(at int64) bool { return at < r.start })
}

// apart says that a fault that cuts traffic kept the master that ordered r from the worker of o,
// and that the two orders did not overlap.
func (j *judge) apart(r, o *room) bool {
	if r.order == nil || !slices.Contains(r.order.Unreachable, o.worker) {
		return false
	}
	if o.order != nil && o.order.From < r.order.At && r.order.From < o.order.At {
		return false
	}
	after := int64(j.Head.Limit(time.Second)) // the look was before the heal
	return slices.ContainsFunc(j.Faults, func(f record.Fault) bool {
		return f.Cuts() && min(f.Asked, f.Began) <= r.start && r.start-after <= f.Ended
	})
}

// ordered is a room as results have it.
func (j *judge) ordered(r *room) party {
	return func() result.Party {
		p := result.Party{Node: j.Text(r.master), Room: j.Text(r.id), Worker: j.Text(r.worker), FromMS: j.MS(r.start), ToMS: j.MS(r.until)}
		if r.order != nil {
			p.Hold = j.Text(r.order.Hold)
		}
		return p
	}
}
