package safety

import (
	"cmp"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// room is one from its creation until it was full, closed or gone.
type room struct {
	*record.Room
	start, until int64
	order        *history.Event // nil: not on record
}

// rooms finds the duplicates: rooms whose creation began while another one of their group was
// starting or had a free seat.
func (j *judge) rooms() {
	for group := range record.Groups(j.buildRooms(), func(r room) string { return r.Resource }) {
		free := make([]*room, 0, len(group))
		for i := range group {
			free = append(j.compare(&group[i], free), &group[i])
		}
	}
}

// buildRooms sorts rooms by group and creation.
func (j *judge) buildRooms() (rooms []room) {
	orders := make(map[string]*history.Event, len(j.Orders))
	for i := range j.Orders {
		orders[j.Orders[i].Order] = &j.Orders[i]
	}
	delete(orders, "")
	for i := range j.Rooms {
		r := &j.Rooms[i]
		start := r.Begun()
		until := min(r.Over(), j.Nodes[r.Worker].Next(start).At)
		rooms = append(rooms, room{r, start, until, orders[r.Order]})
	}
	slices.SortFunc(rooms, func(a, b room) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.start, b.start), cmp.Compare(a.ID, b.ID))
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
		case j.arrivedLate(r) || j.arrivedLate(o) && r.order != nil && r.order.FromNS < o.start || j.apart(r, o):
			excused = cmp.Or(excused, o)
		case o.until-o.Err <= r.start+r.Err:
			doubt = true
		default:
			j.violation(result.Duplicates, r.start, r.Resource, j.ordered(o), j.ordered(r))
			return append(earlier[:i], earlier[keep:]...)
		}
	}
	switch {
	case doubt:
		j.row.Figures["in_doubt"]++
	case excused != nil:
		j.row.Figures["unreachable"]++
		j.found = append(j.found, result.Violation{
			Code: result.Duplicates, AtMS: j.MS(r.start), Resource: r.Resource,
			First: j.ordered(excused), Second: j.ordered(r), Excused: true,
		})
	}
	return append(earlier[:0], earlier[keep:]...)
}

// arrivedLate says that the order of a room arrived after its master had been killed. The first room of
// two may be so as well: if it began after the look of the second's master, that could not see it.
func (j *judge) arrivedLate(r *room) bool {
	return r.order == nil && j.Nodes[r.Master].Life(r.start) > 0
}

// apart says that a fault that cuts traffic kept the master that ordered r from the worker of o,
// and that the two orders did not overlap.
func (j *judge) apart(r, o *room) bool {
	if r.order == nil || !slices.Contains(r.order.Unreachable, o.Worker) {
		return false
	}
	if o.order != nil && o.order.FromNS < r.order.AtNS && r.order.FromNS < o.order.AtNS {
		return false
	}
	after := int64(j.Head.Limit(time.Second)) // the look was before the heal
	return slices.ContainsFunc(j.Faults, func(f record.Fault) bool {
		return f.Cuts() && f.First() <= r.start && r.start-after <= f.Ended
	})
}

// ordered is a room as results have it.
func (j *judge) ordered(r *room) result.Party {
	p := result.Party{Node: r.Master, Room: r.ID, Worker: r.Worker, FromMS: j.MS(r.start), ToMS: j.MS(r.until)}
	if r.order != nil {
		p.Hold = r.order.Hold
	}
	return p
}
