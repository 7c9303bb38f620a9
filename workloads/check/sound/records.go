package sound

import (
	"cmp"
	"slices"
	"time"

	"locklab/locks"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
)

// checkRecords compares what a player was told of a room, what a master knows of its order, and what the
// worker recorded. Where one is missing or contradicts another, a lock is neither convicted nor acquitted.
// Records that were lost on their way leave gaps in their numbers, for which package record looks.
func (j *judge) checkRecords() {
	j.checkRooms()
	j.checkAccesses()
	if !j.Complete() {
		return
	}
	for _, a := range j.Acquires {
		if a.Granted() && a.Stopped == record.Never && j.Nodes[a.Node].Next(a.At).InOrder {
			j.missing.Add("the release of hold %s", a.Hold)
		}
	}
	if j.Whole() {
		j.checkCanaries()
		j.checkMachines()
	}
}

func (j *judge) checkRooms() {
	rooms := make(map[string]*record.Room, len(j.Rooms))
	for i := range j.Rooms {
		r := &j.Rooms[i]
		rooms[r.ID] = r
		came := slices.DeleteFunc(slices.Clone(r.At[:]), func(at int64) bool { return at == record.Never })
		if !slices.IsSorted(came) {
			j.wrong.Add("the order of the states of room %s", r.ID)
		}
	}
	begun := func(room, worker string, at int64) {
		if r := rooms[room]; (r == nil || r.At[record.RoomStarting] == record.Never) && !j.gone(worker, at) {
			j.missing.Add("the beginning of room %s", room)
		}
	}
	for i := range j.Requests {
		if q := &j.Requests[i]; q.Outcome == record.OK && q.Room != "" {
			begun(q.Room, q.Worker, q.At)
		}
	}
	ordered := make(map[string]bool, len(j.Orders))
	for i := range j.Orders {
		o := &j.Orders[i]
		ordered[o.Order] = true
		if o.Outcome == string(locks.OutcomeOK) && o.Room != "" {
			begun(o.Room, o.Worker, o.AtNS)
		}
		j.checkOrder(o, rooms[o.Room])
	}
	for _, r := range rooms {
		// An order may arrive after its master was killed.
		began := r.Begun()
		switch late := j.Nodes[r.Master].Life(began+r.Err) > 0; {
		case !j.Complete():
		case r.At[record.RoomClosed] == record.Never && j.Nodes[r.Worker].Next(began).InOrder:
			j.missing.Add("the end of room %s", r.ID)
		case !ordered[r.Order] && !late && !j.gone(r.Master, began):
			j.missing.Add("the order of room %s", r.ID)
		}
	}
}

// gone says that a process, or the history, may have ended before it could record what it did
// then, or its answer.
func (j *judge) gone(node string, at int64) bool {
	n, soon := j.Nodes[node], at+j.limit(2*time.Second) // an order takes that at most until it is recorded
	if !j.Ended && j.End <= soon {
		return true
	}
	end := n.Next(at - j.limit(time.Second)) // a host acts on for a while after it was last heard
	return n != nil && !end.InOrder && (end.Asked <= soon || end.Asked < record.Never &&
		slices.ContainsFunc(n.Away, func(s record.Span) bool { return s.From >= at && s.From <= soon }))
}

// checkOrder compares an order with the hold that it was under, and with its room.
func (j *judge) checkOrder(o *history.Event, r *record.Room) {
	switch h := j.Hold(o.Hold); {
	case h == nil || h.Node != o.Node:
		j.missing.Add("the acquisition of the hold of order %s", o.Order)
	case h.At > o.FromNS || h.Stopped < o.AtNS || h.Resource != o.Resource:
		j.wrong.Add("the order %s was made without its hold", o.Order)
	}
	if o.Outcome != string(locks.OutcomeOK) || r == nil || r.At[record.RoomStarting] == record.Never {
		return
	}
	if began, err := r.Begun(), o.ErrNS+r.Err; r.Resource != o.Resource || began > o.AtNS+err ||
		began < cmp.Or(o.SentNS, o.FromNS)-err {
		j.wrong.Add("room %s does not fit its order", o.Room)
	}
}

// checkAccesses compares what the store did with the holds that it was done under. A write may
// come after the end of its hold, but not before the beginning.
func (j *judge) checkAccesses() {
	type version struct {
		resource string
		n        uint64
	}
	written := map[version]bool{}
	for i := range j.Accesses {
		a := &j.Accesses[i]
		switch h := j.Hold(a.Hold); {
		case h == nil || h.Node != a.Client:
			j.missing.Add("the acquisition of hold %s, which read or wrote", a.Hold)
		case a.AtNS+a.ErrNS < h.At-h.Err || h.Resource != a.Resource || a.Token > 0 && a.Token != h.Token:
			j.wrong.Add("hold %s read or wrote what it was not granted", a.Hold)
		}
		if a.Kind == history.KindWrite && a.State == history.WriteAccepted {
			v := version{a.Resource, a.Version}
			if written[v] || a.Base >= a.Version {
				j.wrong.Add("version %d of %s, twice", a.Version, a.Resource)
			}
			written[v] = true
		}
	}
}

// checkCanaries wants those of each master.
func (j *judge) checkCanaries() {
	canary := map[string]bool{}
	for _, a := range j.Canaries {
		canary[a.Node] = true
	}
	for _, a := range j.Acquires {
		if !canary[a.Node] {
			canary[a.Node] = true
			j.missing.Add("the canaries of %s", a.Node)
		}
	}
}

// checkMachines wants samples of the controller's machine for the measured part, but for a second.
func (j *judge) checkMachines() {
	sampled := int64(0)
	for i := range j.Machines {
		if m := &j.Machines[i]; m.Host == "" {
			sampled += max(min(m.AtNS, j.Drain)-max(m.FromNS, j.Measure), 0)
		}
	}
	if sampled < j.Drain-j.Measure-int64(time.Second) {
		j.missing.Add("samples of the machine of %s", history.TargetController)
	}
}
