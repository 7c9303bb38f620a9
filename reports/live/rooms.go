package live

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"locklab/workloads/history"
)

const (
	// settleTime is how long the judgement of a new room may change: its order's event comes later, at the latest
	// when the order times out.
	settleTime = 6 * time.Second
	// keepTime is how long a room is remembered after it took its last player.
	keepTime = settleTime + time.Second
)

// rooms are the rooms of the last seconds, with the events that the checker needs.
type rooms struct {
	head    *history.Event  // the run
	causes  []history.Event // faults and nodes, of the whole run
	orders  map[string]history.Event
	byName  map[string]*room
	changed bool  // since they were judged
	seenNS  int64 // when they were judged last
	created int64
	found   map[string]Duplicate // of the whole run, by their rooms
}

// room is a room with the events of its worker.
type room struct {
	events  []history.Event
	state   string
	sinceNS int64 // of its state
	startNS int64
	untilNS int64 // it takes players no more; 0 while it does
}

func (r *rooms) add(e *history.Event) {
	switch e.Kind { //nolint:exhaustive // all others are not about rooms
	case history.KindRun:
		head := *e
		r.head, r.changed = &head, true
	case history.KindNode, history.KindFault:
		r.causes, r.changed = append(r.causes, *e), true
		if e.Kind == history.KindNode && history.NodeEnds(e.State) {
			r.lose(e)
		}
	case history.KindOrder:
		r.orders[e.Order], r.changed = *e, true
	case history.KindRoom:
		r.addState(e)
	}
}

// lose ends the rooms that went with their worker.
func (r *rooms) lose(e *history.Event) {
	for _, one := range r.byName {
		if one.events[0].Node == e.Node && one.state != history.RoomClosed {
			one.state, one.sinceNS, one.untilNS = history.RoomClosed, e.AtNS, cmp.Or(one.untilNS, e.AtNS)
		}
	}
}

func (r *rooms) addState(e *history.Event) {
	one := r.byName[e.Room]
	if one == nil {
		one = &room{startNS: e.AtNS}
		r.byName[e.Room] = one
		r.created++
	}
	one.events, r.changed = append(one.events, *e), true
	if e.AtNS >= one.sinceNS { // also of states that came in another order
		one.state, one.sinceNS = e.State, e.AtNS
	}
	if e.State == history.RoomFull || e.State == history.RoomClosed {
		one.untilNS = min(cmp.Or(one.untilNS, e.AtNS), e.AtNS)
	}
}

// judge has the checker judge the rooms of the last seconds again. Duplicates that had settled at the last
// judgement stay, however long ago that was.
func (r *rooms) judge(duplicates func([]history.Event) []Duplicate, nowNS int64) {
	if r.changed = false; r.head == nil {
		return
	}
	settled, forgotten := r.seenNS-int64(settleTime), r.seenNS-int64(keepTime)
	events := append([]history.Event{*r.head}, r.causes...)
	for name, one := range r.byName {
		if one.untilNS != 0 && max(one.untilNS, one.startNS) < forgotten {
			delete(r.orders, one.events[0].Order)
			if one.state == history.RoomClosed {
				delete(r.byName, name)
			}
			continue
		}
		events = append(events, one.events...)
	}
	for name, o := range r.orders {
		if o.AtNS < forgotten && r.byName[o.Room] == nil {
			delete(r.orders, name)
		} else {
			events = append(events, o)
		}
	}
	maps.DeleteFunc(r.found, func(_ string, d Duplicate) bool { return d.AtNS >= settled })
	for _, d := range duplicates(events) {
		if d.AtNS >= settled {
			r.found[d.Room] = d
		}
	}
	r.seenNS = nowNS
}

// count counts the duplicates that count against the lock, and the others.
func (r *rooms) count() (duplicates, unreachable int64) {
	for _, d := range r.found {
		if d.Unreachable {
			unreachable++
		} else {
			duplicates++
		}
	}
	return duplicates, unreachable
}

// of lists the open rooms of a worker, the oldest first.
func (r *rooms) of(worker string) (all []*room) {
	for _, one := range r.byName {
		if one.events[0].Node == worker && one.state != history.RoomClosed {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *room) int {
		return cmp.Or(cmp.Compare(a.startNS, b.startNS), cmp.Compare(a.events[0].Room, b.events[0].Room))
	})
	return all
}
