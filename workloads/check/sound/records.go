package sound

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"locklab/locks"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
)

// The records of one run must fit each other: what a player was told of a room, what a master
// knows of its order, what the worker recorded. Where one is missing or contradicts another,
// a lock is neither convicted nor acquitted.

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
		j.checkNodes()
		j.checkFaults()
		j.checkMachines()
	}
}

// room is what is on record of one room, and the answers that players got.
type room struct {
	*record.Room
	seats    int
	answered int64 // the last of them
}

func (j *judge) checkRooms() {
	rooms := make(map[string]*room, len(j.Rooms))
	for i := range j.Rooms {
		r := &j.Rooms[i]
		rooms[r.ID] = &room{Room: r}
		if r.At[record.RoomStarting] == record.Never {
			j.missing.Add("the beginning of room %s", r.ID)
		}
		if came := slices.DeleteFunc(slices.Clone(r.At[:]),
			func(at int64) bool { return at == record.Never }); !slices.IsSorted(came) {
			j.wrong.Add("the order of the states of room %s", r.ID)
		}
	}
	for i := range j.Requests {
		q := &j.Requests[i]
		if q.Outcome != record.OK || q.Room == "" {
			continue
		}
		if r := rooms[q.Room]; r != nil {
			r.seats, r.answered = r.seats+1, max(r.answered, q.At)
		} else if !j.gone(q.Worker, q.At) {
			j.missing.Add("the beginning of room %s", q.Room)
		}
	}
	orders := make(map[string]bool, len(j.Orders))
	for i := range j.Orders {
		o := &j.Orders[i]
		j.checkOrder(o, rooms[o.Room])
		orders[o.Order] = true
	}
	for _, r := range rooms {
		if j.Complete() {
			j.checkRoom(r, orders[r.Order])
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

// checkOrder compares an order with its room, and with the hold that it was under.
func (j *judge) checkOrder(o *history.Event, r *room) {
	switch h := j.Hold(o.Hold); {
	case h == nil || h.Node != o.Node:
		j.missing.Add("the acquisition of the hold of order %s", o.Order)
	case h.At > o.FromNS || h.Stopped < o.AtNS || h.Resource != o.Resource:
		j.wrong.Add("the order %s was made without its hold", o.Order)
	}
	switch {
	case o.Outcome != string(locks.OutcomeOK) || o.Room == "":
	case r == nil:
		if !j.gone(o.Worker, o.AtNS) {
			j.missing.Add("the beginning of room %s", o.Room)
		}
	case r.At[record.RoomStarting] == record.Never: // that is missing
	case r.Resource != o.Resource || r.Begun()+o.ErrNS+r.Err < cmp.Or(o.SentNS, o.FromNS) ||
		r.Begun() > o.AtNS+o.ErrNS+r.Err:
		j.wrong.Add("room %s does not fit its order", o.Room)
	}
}

// checkRoom wants the order of a room, that it was full if all its seats were taken, and its end.
func (j *judge) checkRoom(r *room, ordered bool) {
	name, worker, began := r.ID, r.Worker, r.Begun()
	switch {
	case r.At[record.RoomFull] == record.Never && j.Head.Seats > 0 && r.seats >= j.Head.Seats &&
		!j.gone(worker, r.answered):
		j.missing.Add("that room %s was full", name)
	case r.At[record.RoomClosed] == record.Never && j.Nodes[worker].Next(began).InOrder:
		j.missing.Add("the end of room %s", name)
	}
	// An order may arrive after its master was killed.
	kills := j.Kills(r.Master)
	if !ordered && !j.gone(r.Master, began) && (len(kills) == 0 || kills[0] >= began+r.Err) {
		j.missing.Add("the order of room %s", name)
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
	lowest, untold := map[string]uint64{}, map[string]bool{}
	for i := range j.Accesses {
		a := &j.Accesses[i]
		switch h := j.Hold(a.Hold); {
		case h == nil || h.Node != a.Client:
			j.missing.Add("the acquisition of hold %s, which read or wrote", a.Hold)
		case a.AtNS+a.ErrNS < h.At-h.Err || h.Resource != a.Resource || a.Token > 0 && a.Token != h.Token:
			j.wrong.Add("hold %s read or wrote what it was not granted", a.Hold)
		}
		if v := (version{a.Resource, a.Version}); a.Kind == history.KindWrite && a.State == history.WriteAccepted {
			if written[v] || a.Base >= a.Version {
				j.wrong.Add("version %d of %s, twice", a.Version, a.Resource)
			}
			written[v] = true
			lowest[v.resource] = min(cmp.Or(lowest[v.resource], v.n), v.n)
		}
		untold[a.Resource] = untold[a.Resource] || a.State == history.WriteUnknown
	}
	for v := range written {
		if before := (version{v.resource, v.n - 1}); v.n > lowest[v.resource] && !written[before] && !untold[v.resource] {
			j.missing.Add("the write of version %d of %s", before.n, v.resource)
		}
	}
}

// checkNodes wants the beginning and the end of each node's life, where it ran, and the canaries of
// each master: all masters have them.
func (j *judge) checkNodes() {
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
	for _, n := range j.Nodes {
		name := n.Name
		switch {
		case len(n.Events) == 0: // of the topology, but not of this lock
		case j.Head.NodeHosts[name] == "" || n.Zone == "":
			j.missing.Add("the host and zone of node %s", name)
		case n.Starts == 0:
			j.missing.Add("the beginning of node %s", name)
		case n.Runs:
			j.missing.Add("the end of node %s", name)
		}
	}
}

// checkFaults wants that each node that a fault was to stop stood still.
func (j *judge) checkFaults() {
	worst := int64(0)
	for _, err := range j.ErrNS {
		worst = max(worst, err)
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		if !f.Stops() || f.Began == record.Never || f.Asked == record.Never {
			continue
		}
		to := f.Began
		if f.Ended < record.Never {
			to = max(to, f.Ended)
		}
		for _, name := range f.Nodes {
			var spans []record.Span // sorted
			if n := j.Nodes[name]; n != nil {
				spans = n.Away
			}
			first := sort.Search(len(spans), func(i int) bool { return spans[i].To > f.Asked-2*worst })
			if first == len(spans) || spans[first].From >= to+2*worst {
				j.missing.Add("that fault %s stopped node %s", f.ID, name)
			}
		}
	}
}

// checkMachines wants samples of the controller's machine from the beginning of the measured
// part to its end, and of all machines without gaps.
func (j *judge) checkMachines() {
	const slack = int64(time.Second) // a sample takes half of that, where nothing disturbs it
	last := map[string]int64{"": j.Measure + slack*9/10}
	samples := slices.Clone(j.Machines)
	slices.SortStableFunc(samples, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.FromNS, b.FromNS), cmp.Compare(a.AtNS, b.AtNS))
	})
	for _, m := range samples {
		if before, again := last[m.Host]; again && m.FromNS-before > slack/10 {
			j.missing.Add("samples of the machine of %s", cmp.Or(m.Host, history.TargetController))
		}
		last[m.Host] = m.AtNS
	}
	if last[""] < j.Drain-slack {
		j.missing.Add("samples of the machine of %s", history.TargetController)
	}
}
