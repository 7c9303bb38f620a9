package worker

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Bounds that users have no reason to set.
const (
	feedsMax    = 64
	goneMax     = 4096 // closed rooms remembered, for repeated orders and late players
	memoryTouch = 4096 // one write per page makes an allocation real
)

// rooms is all rooms of a worker. One mutex makes every change true, gives it its
// revision and records it, so the history has the changes in their true order.
type rooms struct {
	settings    Settings
	incarnation string
	recorder    history.Recorder

	mu     sync.Mutex
	rev    uint64
	made   uint64 // rooms ever made
	live   int
	byID   map[string]*room   // by id, with the closed ones that are remembered
	orders map[string]*room   // by order id, the same rooms
	groups map[string][]*room // the live ones of each, oldest first
	gone   []*room            // closed rooms that are remembered, oldest first
	feeds  map[*feed]struct{}
	closed bool
}

// room is guarded by rooms.mu.
type room struct {
	id, group, order, by string
	state                State
	rev                  uint64
	booted               bool
	players              map[string]struct{}
	memory               []byte
	timer                clock.Timer // what happens next to it: boot, max_open or life
}

func newRooms(settings Settings, incarnation string, recorder history.Recorder) *rooms {
	return &rooms{
		settings:    settings,
		incarnation: incarnation,
		recorder:    recorder,
		byID:        map[string]*room{},
		orders:      map[string]*room{},
		groups:      map[string][]*room{},
		feeds:       map[*feed]struct{}{},
	}
}

// order makes a room, or finds the one that the same order made before.
func (h *rooms) order(req OrderRequest) (Room, bool, *httpapi.Error) {
	memory := h.allocate() // outside the mutex: it is the expensive part
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return Room{}, false, refuse(KindStopping, "the worker is going down")
	}
	if r, ok := h.orders[req.Order]; ok {
		if r.group != req.Group {
			return Room{}, false, refuse(KindConflict, "order %q made room %q of another group", req.Order, r.id)
		}
		return h.view(r), false, nil
	}
	if h.live >= h.settings.MaxRooms {
		return Room{}, false, refuse(KindCapacity, "all %d rooms are in use", h.live)
	}
	h.made++
	r := &room{
		id:      h.settings.Name + "-" + h.incarnation + "-" + strconv.FormatUint(h.made, 10),
		group:   req.Group,
		order:   req.Order,
		by:      req.By,
		players: make(map[string]struct{}, h.settings.Capacity),
		memory:  memory,
	}
	h.groups[r.group] = append(h.groups[r.group], r)
	h.byID[r.id] = r
	h.orders[r.order] = r
	h.live++
	h.enter(r, StateStarting)
	h.after(r, h.settings.Boot, h.boot)
	return h.view(r), true, nil
}

// seat gives the player a seat, or confirms the one it has.
func (h *rooms) seat(id, player string) (Room, *httpapi.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.byID[id]
	if !ok {
		return Room{}, refuse(KindNotFound, "no room %q here", id)
	}
	if r.state == StateClosed {
		return h.view(r), refuse(KindClosed, "room %q is closed", id)
	}
	if _, seated := r.players[player]; seated {
		return h.view(r), nil
	}
	if len(r.players) >= h.settings.Capacity {
		return h.view(r), refuse(KindFull, "room %q has no free seat", id)
	}
	r.players[player] = struct{}{}
	if len(r.players) < h.settings.Capacity {
		h.touch(r, false)
		return h.view(r), nil
	}
	h.enter(r, StateFull)
	if r.booted { // otherwise boot starts the life
		h.after(r, h.settings.Life, h.end)
	}
	return h.view(r), nil
}

// boot ends the start of a room.
func (h *rooms) boot(r *room) {
	r.booted = true
	if r.state == StateFull {
		h.after(r, h.settings.Life, h.end)
		return
	}
	h.enter(r, StateOpen)
	h.after(r, maxOpen, h.end)
}

// end closes a room. It is remembered for a while without what made it expensive.
func (h *rooms) end(r *room) {
	h.enter(r, StateClosed)
	r.players, r.memory, r.timer = nil, nil, nil
	h.live--
	left := slices.DeleteFunc(h.groups[r.group], func(other *room) bool { return other == r })
	if h.groups[r.group] = left; len(left) == 0 {
		delete(h.groups, r.group)
	}
	h.gone = append(h.gone, r)
	if len(h.gone) > goneMax {
		oldest := h.gone[0]
		h.gone[0] = nil
		h.gone = h.gone[1:]
		delete(h.byID, oldest.id)
		delete(h.orders, oldest.order)
	}
}

// after lets step happen to the room in d, unless something else was planned for
// it since. The caller holds mu.
func (h *rooms) after(r *room, d time.Duration, step func(*room)) {
	if r.timer != nil {
		r.timer.Stop()
	}
	var timer clock.Timer
	timer = clock.System().AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if r.timer == timer && r.state != StateClosed && !h.closed {
			step(r)
		}
	})
	r.timer = timer
}

// enter makes a state true and records it. The caller holds mu.
func (h *rooms) enter(r *room, s State) {
	r.state = s
	h.touch(r, true)
	h.recorder.Record(history.Event{
		Kind:     history.KindRoom,
		AtNS:     clock.Mono(),
		Node:     h.settings.Name,
		State:    string(s),
		Resource: r.group,
		Room:     r.id,
		Order:    r.order,
		Client:   r.by,
	})
}

// touch gives a change its revision and tells the feeds; news is a change of the
// room's state. The caller holds mu.
func (h *rooms) touch(r *room, news bool) {
	h.rev++
	r.rev = h.rev
	for f := range h.feeds {
		f.add(r, news)
	}
}

// view is the room as the API shows it. The caller holds mu.
func (h *rooms) view(r *room) Room {
	v := Room{
		Room: r.id, Group: r.group, Worker: h.settings.Name, State: r.state,
		Capacity: h.settings.Capacity, Rev: r.rev,
	}
	if r.state == StateStarting || r.state == StateOpen {
		v.Free = h.settings.Capacity - len(r.players)
	}
	return v
}

// list shows the live rooms of a group, oldest first, or of all groups.
func (h *rooms) list(name string, all bool) Listing {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := Listing{
		Worker: h.settings.Name, Incarnation: h.incarnation,
		Rev: h.rev, Live: h.live, RoomsMax: h.settings.MaxRooms, Rooms: []Room{},
	}
	if all {
		l.Rooms = h.allLive()
	} else {
		for _, r := range h.groups[name] {
			l.Rooms = append(l.Rooms, h.view(r))
		}
	}
	return l
}

// allLive has the rooms that are not closed, by revision. The caller holds mu.
func (h *rooms) allLive() []Room {
	rooms := make([]Room, 0, h.live)
	for _, group := range h.groups {
		for _, r := range group {
			rooms = append(rooms, h.view(r))
		}
	}
	slices.SortFunc(rooms, func(a, b Room) int { return cmp.Compare(a.Rev, b.Rev) })
	return rooms
}

// shut closes all rooms, as the end of their process does, and refuses new ones.
func (h *rooms) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for _, group := range h.groups {
		for _, r := range group {
			r.timer.Stop()
			h.enter(r, StateClosed)
		}
	}
}

func (h *rooms) status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Status{Name: h.settings.Name, Incarnation: h.incarnation, Live: h.live, Made: h.made, Feeds: len(h.feeds)}
}

func (h *rooms) allocate() []byte {
	memory := make([]byte, h.settings.MemoryKiB<<10)
	for i := 0; i < len(memory); i += memoryTouch {
		memory[i] = 1
	}
	return memory
}
