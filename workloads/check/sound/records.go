package sound

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
)

// The records of one run must fit each other: what a player was told of a room, what a master
// knows of its order, what the worker recorded. Where one is missing or contradicts another,
// a lock is neither convicted nor acquitted.

const (
	// orderTime is how long an order takes at most until it is recorded.
	orderTime = 2 * time.Second
	// maxOpen is how long a room waits for players that do not come.
	maxOpen = 30 * int64(time.Second)
)

func (j *judge) checkRecords() {
	j.checkRooms()
	j.checkAccesses()
	if !j.Complete() {
		return
	}
	for i := range j.Acquires {
		if a := &j.Acquires[i]; a.Granted() && a.Stopped == record.Never && j.Node(a.Node).Next(a.At).InOrder {
			j.missing.Add("the release of hold %s", j.Text(a.Hold))
		}
	}
	if j.Ended && len(j.GivenUp) == 0 {
		j.checkPlayers()
		j.checkNodes()
		j.checkMachines()
	}
}

// room is what is on record of one room; times that did not come are 0.
type room struct {
	*record.RoomEvent       // the first
	full, closed      int64 // 0: never
	last              *record.RoomEvent
	seats             uint32
	answered          int64 // the last answer of a seat
	err               int64
}

func (j *judge) checkRooms() {
	j.orders = make(map[record.Name]*record.Order, len(j.Orders))
	for i := range j.Orders {
		o := &j.Orders[i]
		if j.orders[o.ID] != nil {
			j.wrong.Add("the order %s, twice", j.Text(o.ID))
		}
		j.orders[o.ID] = o
	}
	j.buildRooms()
	for i := range j.Requests {
		if q := &j.Requests[i]; q.Outcome == record.OK && q.Room != 0 {
			j.checkSeat(q)
		}
	}
	for i := range j.Orders {
		j.checkOrder(&j.Orders[i])
	}
	if j.Complete() {
		for _, r := range j.rooms {
			j.checkRoomIsWhole(r)
		}
	}
}

// buildRooms wants each state of a room once, after those that come before it.
func (j *judge) buildRooms() {
	events := make([]*record.RoomEvent, len(j.Rooms))
	for i := range j.Rooms {
		events[i] = &j.Rooms[i]
	}
	slices.SortStableFunc(events, func(a, b *record.RoomEvent) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.State, b.State))
	})
	j.rooms = map[record.Name]*room{}
	for _, e := range events {
		r := j.rooms[e.Room]
		name := j.Text(e.Room)
		switch {
		case r == nil:
			r = &room{RoomEvent: e}
			j.rooms[e.Room] = r
			if e.State != record.RoomStarting {
				j.missing.Add("the beginning of room %s", name)
			}
		case e.State == r.last.State:
			j.wrong.Add("a state of room %s, twice", name)
		case e.State < r.last.State || e.State == record.RoomOther:
			j.wrong.Add("the order of the states of room %s", name)
		case e.Resource != r.Resource || e.Order != r.Order || e.Worker != r.Worker:
			j.wrong.Add("room %s is one of %s, and of %s", name, j.Text(r.Resource), j.Text(e.Resource))
		}
		r.last, r.err = e, max(r.err, e.Err)
		if e.State == record.RoomFull {
			r.full = e.At
		}
		if e.State == record.RoomClosed {
			r.closed = e.At
		}
	}
}

// gone says that a process, or the history, may have ended before it could record what it did
// then, or its answer.
func (j *judge) gone(node record.Name, at int64) bool {
	n, soon := j.Node(node), at+j.limit(orderTime)
	if !j.Ended && j.End <= soon {
		return true
	}
	end := n.Next(at)
	return n != nil && !end.InOrder && (end.Asked <= soon || end.Asked < record.Never &&
		slices.ContainsFunc(n.Away, func(s record.Span) bool { return s.From >= at && s.From <= soon }))
}

// checkSeat compares what a player was told with the room.
func (j *judge) checkSeat(q *record.Request) {
	r, name := j.rooms[q.Room], j.Text(q.Room)
	if r == nil {
		if !j.gone(q.Worker, q.At) {
			j.missing.Add("the beginning of room %s", name)
		}
		return
	}
	r.seats, r.answered = r.seats+1, max(r.answered, q.At)
	switch {
	case r.State != record.RoomStarting:
	case r.Resource != q.Resource:
		j.wrong.Add("room %s is one of %s, and of %s", name, j.Text(r.Resource), j.Text(q.Resource))
	case r.At-r.err > q.At:
		j.wrong.Add("a seat in room %s before it began", name)
	case r.closed != 0 && q.Sent > r.closed+r.err:
		j.wrong.Add("a seat in room %s after it was closed", name)
	}
}

// checkOrder compares an order with its room, and with the hold that it was under.
func (j *judge) checkOrder(o *record.Order) {
	switch h := j.Hold(o.Hold); {
	case h == nil || h.Node != o.Node:
		j.missing.Add("the acquisition of the hold of order %s", j.Text(o.ID))
	case h.At > o.From || h.Stopped < o.At:
		j.wrong.Add("the order %s was made without its hold", j.Text(o.ID))
	case h.Resource != o.Resource:
		j.wrong.Add("the order %s is one of %s, and of %s", j.Text(o.ID), j.Text(h.Resource), j.Text(o.Resource))
	}
	if o.Outcome != record.OK || o.Room == 0 {
		return
	}
	switch r := j.rooms[o.Room]; {
	case r == nil:
		if !j.gone(o.Worker, o.At) {
			j.missing.Add("the beginning of room %s", j.Text(o.Room))
		}
	case r.State == record.RoomStarting && (r.At+o.Err+r.err < cmp.Or(o.Sent, o.From) || r.At > o.At+o.Err+r.err):
		j.wrong.Add("room %s began outside of its order", j.Text(o.Room))
	}
}

// checkRoomIsWhole wants the order of a room, that it was full or had time to wait for players,
// and its end.
func (j *judge) checkRoomIsWhole(r *room) {
	if r.State != record.RoomStarting {
		return
	}
	name, stop := j.Text(r.Room), j.Node(r.Worker).Next(r.At)
	switch {
	case r.full == 0 && j.Head.Seats > 0 && int(r.seats) >= j.Head.Seats && !j.gone(r.Worker, r.answered):
		j.missing.Add("that room %s was full", name)
	case r.closed == 0 && stop.InOrder:
		j.missing.Add("the end of room %s", name)
	case r.closed != 0 && r.full == 0 && r.closed-r.At < maxOpen && r.closed < stop.Asked-2*r.err:
		j.missing.Add("that room %s was full", name)
	}
	if j.orders[r.Order] != nil || j.gone(r.Client, r.At) {
		return
	}
	// An order may arrive after its master was killed.
	if n := j.Node(r.Client); n == nil || !slices.ContainsFunc(n.Killed, func(at int64) bool { return at < r.At+r.err }) {
		j.missing.Add("the order of room %s", name)
	}
}

// checkAccesses compares what the store did with the holds that it was done under. A write may
// come after the end of its hold, but not before the beginning.
func (j *judge) checkAccesses() {
	if len(j.Accesses) > 0 && j.Head.Workload != history.FencedWrite {
		j.wrong.Add("writes in the workload %s", j.Head.Workload)
		return
	}
	type version struct {
		resource record.Name
		n        uint64
	}
	written := map[version]bool{}
	for i := range j.Accesses {
		a := &j.Accesses[i]
		hold := j.Text(a.Hold)
		switch h := j.Hold(a.Hold); {
		case h == nil || h.Node != a.By:
			j.missing.Add("the acquisition of hold %s, which read or wrote", hold)
		case h.Resource != a.Resource:
			j.wrong.Add("the hold %s is one of %s, and of %s", hold, j.Text(h.Resource), j.Text(a.Resource))
		case a.At+a.Err < h.At-h.Err:
			j.wrong.Add("hold %s read or wrote before it was granted", hold)
		case a.Token > 0 && a.Token != h.Token:
			j.wrong.Add("hold %s showed a token of another", hold)
		}
		if a.Kind != record.DidWrite {
			continue
		}
		v := version{a.Resource, a.Version}
		if written[v] || a.Base >= a.Version {
			j.wrong.Add("version %d of %s, twice", a.Version, j.Text(a.Resource))
		}
		written[v] = true
	}
}

// checkPlayers wants each player of the schedule once: they are numbered.
func (j *judge) checkPlayers() {
	switch own := j.Head.Workload == history.Matchmaking; {
	case own && len(j.Requests) == 0:
		j.missing.Add("all requests")
	case !own && len(j.Requests) > 0:
		j.wrong.Add("requests in the workload %s", j.Head.Workload)
		return
	}
	skipped := 0
	var players []int
	for i := range j.Requests {
		q := &j.Requests[i]
		number, is := strings.CutPrefix(j.Text(q.Client), "p")
		n, err := strconv.ParseUint(number, 10, 40)
		switch {
		case q.Outcome == record.Unsent:
			skipped += int(q.Count)
		case is && err == nil:
			players = append(players, int(n)) //nolint:gosec // 40 bits
		}
	}
	slices.Sort(players)
	for i := 1; i < len(players); i++ {
		if players[i] == players[i-1] {
			j.wrong.Add("the request of player p%d, twice", players[i])
		}
	}
	if players = slices.Compact(players); len(players) == 0 {
		return
	}
	if last := players[len(players)-1]; last+1 > skipped+len(players) {
		j.missing.Add("requests of players before p%d", last)
	}
}

// checkNodes wants the beginning and the end of each node's life, where it ran, and that what a
// fault was to stop stood still.
func (j *judge) checkNodes() {
	worst := int64(0)
	for _, err := range j.ErrNS {
		worst = max(worst, err)
	}
	for i := range j.Nodes {
		n := &j.Nodes[i]
		if len(n.Events) == 0 && !n.Acts {
			continue // of the topology, but not of this lock
		}
		name := j.Text(n.Name)
		host, known := j.Head.NodeHosts[name]
		if _, zoned := j.Head.HostZones[host]; !known || !zoned {
			j.missing.Add("the host and zone of node %s", name)
		}
		switch {
		case n.Starts == 0:
			j.missing.Add("the beginning of node %s", name)
		case n.Runs:
			j.missing.Add("the end of node %s", name)
		}
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
		for _, node := range f.Nodes {
			name, _ := j.NameOf(node)
			n := j.Node(name)
			if n == nil || !slices.ContainsFunc(n.Away, func(s record.Span) bool { return s.From < to+2*worst && s.To > f.Asked-2*worst }) {
				j.missing.Add("that fault %s stopped node %s", f.ID, node)
			}
		}
	}
}

// checkMachines wants samples of the controller's machine from the beginning of the measured
// part to its end, and of all machines without gaps.
func (j *judge) checkMachines() {
	const slack = int64(time.Second) // a sample takes half of that, where nothing disturbs it
	first, last := map[string]int64{}, map[string]int64{}
	samples := slices.Clone(j.Machines)
	slices.SortStableFunc(samples, func(a, b record.Machine) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, m := range samples {
		machine := cmp.Or(m.Host, history.TargetController)
		if before, again := last[m.Host]; !again {
			first[m.Host] = m.From
		} else if gap := m.From - before; gap > slack/10 {
			j.missing.Add("samples of the machine of %s", machine)
		} else if gap < -slack/10 {
			j.wrong.Add("samples of the machine of %s, twice", machine)
		}
		last[m.Host] = m.To
	}
	if len(samples) == 0 || first[""] > j.Measure+slack || last[""] < j.Drain-slack {
		j.missing.Add("samples of the machine of %s", history.TargetController)
	}
}
