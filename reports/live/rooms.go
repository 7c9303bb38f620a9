package live

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"locklab/workloads/history"
)

const (
	// settleTime is how long after a room began its judgement may still change: what its
	// order says comes later, at the latest when the order's time is up.
	settleTime = 6 * time.Second
	// keepTime is how long a room is remembered after it took players no more.
	keepTime = settleTime + time.Second
)

// rooms are those of the last seconds, with all that they are judged by.
type rooms struct {
	head    *history.Event  // the run
	causes  []history.Event // faults and nodes, of the whole run
	orders  map[string]history.Event
	byName  map[string]*room
	changed bool  // since they were judged
	seenNS  int64 // when they were judged last, with all that was known by then
	created int64
	// The duplicates of the run so far.
	duplicates, unreachable int64
}

// room is what its worker said of it.
type room struct {
	events    []history.Event
	state     string
	sinceNS   int64 // of its state
	startNS   int64
	untilNS   int64 // it takes players no more; 0 while it does
	duplicate bool
	excused   bool // an unreachable one
}

func newRooms() rooms {
	return rooms{orders: map[string]history.Event{}, byName: map[string]*room{}}
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
		if one.events[0].Node == e.Node && one.state != "closed" {
			one.state, one.sinceNS, one.untilNS = "closed", e.AtNS, cmp.Or(one.untilNS, e.AtNS)
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
	if e.State == "full" || e.State == "closed" {
		one.untilNS = min(cmp.Or(one.untilNS, e.AtNS), e.AtNS)
	}
}

// judge gives the rooms of the last seconds to the checker, and returns the duplicates that are
// new or are of the other kind now, and the rooms that are no more what they were taken for. What was old at the last judgement keeps the one it got
// then: on a busy machine that may be longer ago than a judgement takes to settle.
func (r *rooms) judge(duplicates func([]history.Event) []Duplicate, nowNS int64) (found []Duplicate, withdrawn []string) {
	if r.changed = false; r.head == nil {
		return nil, nil
	}
	old := func(sinceNS int64, after time.Duration) bool { return r.seenNS-sinceNS > int64(after) }
	events := append([]history.Event{*r.head}, r.causes...)
	for name, one := range r.byName {
		if one.untilNS != 0 && old(one.untilNS, keepTime) && old(one.startNS, keepTime) {
			delete(r.orders, one.events[0].Order)
			if one.state == "closed" {
				delete(r.byName, name)
			}
			continue
		}
		events = append(events, one.events...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.orders)) {
		if o := r.orders[name]; old(o.AtNS, keepTime) && r.byName[o.Room] == nil {
			delete(r.orders, name)
		} else {
			events = append(events, o)
		}
	}
	judged := map[string]Duplicate{}
	for _, d := range duplicates(events) {
		judged[d.Room] = d
	}
	for name, one := range r.byName {
		if old(one.startNS, settleTime) {
			continue
		}
		d, is := judged[name]
		r.count(one, -1)
		changed := is != one.duplicate || is && one.excused != d.Unreachable
		if changed && one.duplicate {
			withdrawn = append(withdrawn, name)
		}
		if changed && is {
			found = append(found, d)
		}
		one.duplicate, one.excused = is, d.Unreachable
		r.count(one, 1)
	}
	slices.SortFunc(found, func(a, b Duplicate) int { return cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.Room, b.Room)) })
	slices.Sort(withdrawn)
	r.seenNS = nowNS
	return found, withdrawn
}

// count adds a room to the duplicates, or takes it away, if it is one.
func (r *rooms) count(one *room, by int64) {
	switch {
	case one.excused:
		r.unreachable += by
	case one.duplicate:
		r.duplicates += by
	}
}

// group is whose room it is, and worker where it is; "" if nothing is known of it.
func (r *rooms) group(name string) string {
	if one := r.byName[name]; one != nil {
		return one.events[0].Resource
	}
	return ""
}

func (r *rooms) worker(name string) string {
	if one := r.byName[name]; one != nil {
		return one.events[0].Node
	}
	return ""
}

// of lists the rooms of a worker that are there, the oldest first, and for a while those that
// were duplicates.
func (r *rooms) of(worker string) (all []*room) {
	for _, one := range r.byName {
		if one.events[0].Node == worker && one.state != "closed" {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *room) int {
		return cmp.Or(cmp.Compare(a.startNS, b.startNS), cmp.Compare(a.events[0].Room, b.events[0].Room))
	})
	return all
}
