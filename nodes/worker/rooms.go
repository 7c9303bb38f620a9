package worker

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

const (
	// maxOpen is the time after which a room closes even if it is not full.
	maxOpen     = 30 * time.Second
	memoryBytes = 64 << 10 // of a room
	memoryTouch = 4096     // one write per page makes the memory resident
)

// rooms is all rooms of a worker. Every change gets its revision and is recorded under one
// mutex, so the history has the changes in their true order.
type rooms struct {
	settings    Settings
	incarnation string
	recorder    history.Recorder

	mu     sync.Mutex
	rev    uint64
	live   int
	byID   map[string]*room   // including closed ones, for late players
	orders map[string]*room   // the same rooms by order, for repeated orders
	groups map[string][]*room // the live rooms of each group, oldest first
	feeds  map[*feed]struct{}
}

// room is guarded by rooms.mu.
type room struct {
	Room      // without Free
	order, by string
	booted    bool
	players   map[string]struct{}
	memory    []byte
	timer     clock.Timer // its next step: boot, max_open or life
}

func newRooms(settings Settings, recorder history.Recorder) *rooms {
	return &rooms{
		settings:    settings,
		incarnation: strconv.FormatUint(uint64(clock.Mono()), 36),
		recorder:    recorder,
		byID:        map[string]*room{},
		orders:      map[string]*room{},
		groups:      map[string][]*room{},
		feeds:       map[*feed]struct{}{},
	}
}

// order makes a room, or finds the one that the same order made before.
func (h *rooms) order(req OrderRequest) (Room, error) {
	memory := allocate() // expensive, so outside the mutex
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.orders[req.Order]; ok {
		return h.view(r), nil
	}
	if h.live >= h.settings.MaxRooms {
		return Room{}, refuse(http.StatusInsufficientStorage, KindCapacity, "all %d rooms are in use", h.live)
	}
	r := &room{
		Room: Room{
			ID:    h.settings.Name + "-" + h.incarnation + "-" + strconv.Itoa(len(h.byID)+1),
			Group: req.Group, Worker: h.settings.Name, Capacity: h.settings.Capacity,
		},
		order:   req.Order,
		by:      req.By,
		players: make(map[string]struct{}, h.settings.Capacity),
		memory:  memory,
	}
	h.groups[r.Group] = append(h.groups[r.Group], r)
	h.byID[r.ID] = r
	h.orders[r.order] = r
	h.live++
	h.enter(r, history.RoomStarting)
	h.after(r, h.settings.Boot, h.boot)
	return h.view(r), nil
}

// seat gives the player a seat, or confirms the one it has.
func (h *rooms) seat(id, player string) (Room, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.byID[id]
	if !ok {
		return Room{}, refuse(http.StatusNotFound, KindNotFound, "no room %q here", id)
	}
	if r.State == history.RoomClosed {
		return Room{}, refuse(http.StatusConflict, KindClosed, "room %q is closed", id)
	}
	if _, seated := r.players[player]; seated {
		return h.view(r), nil
	}
	if len(r.players) >= h.settings.Capacity {
		return Room{}, refuse(http.StatusConflict, KindFull, "room %q has no free seat", id)
	}
	r.players[player] = struct{}{}
	if len(r.players) < h.settings.Capacity {
		h.touch(r)
		return h.view(r), nil
	}
	h.enter(r, history.RoomFull)
	if r.booted { // otherwise boot starts the timer
		h.after(r, h.settings.Life, h.end)
	}
	return h.view(r), nil
}

// boot ends the boot of a room.
func (h *rooms) boot(r *room) {
	r.booted = true
	if r.State == history.RoomFull {
		h.after(r, h.settings.Life, h.end)
		return
	}
	h.enter(r, history.RoomOpen)
	h.after(r, maxOpen, h.end)
}

// end closes a room, and frees its memory and players.
func (h *rooms) end(r *room) {
	h.enter(r, history.RoomClosed)
	r.players, r.memory, r.timer = nil, nil, nil
	h.live--
	left := slices.DeleteFunc(h.groups[r.Group], func(other *room) bool { return other == r })
	if h.groups[r.Group] = left; len(left) == 0 {
		delete(h.groups, r.Group)
	}
}

// after calls step for the room in d, unless another step was planned since. The caller
// holds mu.
func (h *rooms) after(r *room, d time.Duration, step func(*room)) {
	if r.timer != nil {
		r.timer.Stop()
	}
	var timer clock.Timer
	timer = clock.System().AfterFunc(d, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if r.timer == timer && r.State != history.RoomClosed {
			step(r)
		}
	})
	r.timer = timer
}

// enter sets a room's state and records it. The caller holds mu.
func (h *rooms) enter(r *room, state string) {
	r.State = state
	h.touch(r)
	h.recorder.Record(history.Event{
		Kind:     history.KindRoom,
		AtNS:     clock.Mono(),
		Node:     h.settings.Name,
		State:    state,
		Resource: r.Group,
		Room:     r.ID,
		Order:    r.order,
		Client:   r.by,
	})
}

// touch gives a change its revision and notifies the feeds. The caller holds mu.
func (h *rooms) touch(r *room) {
	h.rev++
	r.Rev = h.rev
	for f := range h.feeds {
		f.dirty[r] = struct{}{}
		signals.Wake(f.wake)
	}
}

// view returns the room as the API shows it. The caller holds mu.
func (h *rooms) view(r *room) Room {
	v := r.Room
	if v.State == history.RoomStarting || v.State == history.RoomOpen {
		v.Free = v.Capacity - len(r.players)
	}
	return v
}

// list returns the live rooms of a group, oldest first.
func (h *rooms) list(group string) Listing {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := Listing{
		Incarnation: h.incarnation, Rev: h.rev, Live: h.live, RoomsMax: h.settings.MaxRooms, Rooms: []Room{},
	}
	for _, r := range h.groups[group] {
		l.Rooms = append(l.Rooms, h.view(r))
	}
	return l
}

// shut closes all rooms.
func (h *rooms) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, group := range h.groups {
		for _, r := range group {
			r.timer.Stop()
			h.enter(r, history.RoomClosed)
		}
	}
	clear(h.groups)
}

// count returns the number of rooms in a state other than closed.
func (h *rooms) count(state string) (n float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, group := range h.groups {
		for _, r := range group {
			if r.State == state {
				n++
			}
		}
	}
	return n
}

func allocate() []byte {
	memory := make([]byte, memoryBytes)
	for i := 0; i < len(memory); i += memoryTouch {
		memory[i] = 1
	}
	return memory
}

// feed is one follower of the rooms. It keeps each changed room once until the follower takes
// it, so a slow follower costs at most the number of rooms.
type feed struct {
	table *rooms
	dirty map[*room]struct{} // guarded by rooms.mu
	wake  chan struct{}      // has a token while rooms may be dirty
}

// subscribe starts a feed. The caller must unsubscribe.
func (h *rooms) subscribe() *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &feed{table: h, dirty: map[*room]struct{}{}, wake: make(chan struct{}, 1)}
	h.feeds[f] = struct{}{}
	for _, group := range h.groups {
		for _, r := range group {
			f.dirty[r] = struct{}{}
		}
	}
	return f
}

func (f *feed) unsubscribe() {
	f.table.mu.Lock()
	defer f.table.mu.Unlock()
	delete(f.table.feeds, f)
}

// take returns the next line: the rooms that changed since the last one, by revision.
func (f *feed) take() FeedLine {
	h := f.table
	h.mu.Lock()
	defer h.mu.Unlock()
	line := FeedLine{Incarnation: h.incarnation, Rev: h.rev}
	for r := range f.dirty {
		line.Rooms = append(line.Rooms, h.view(r))
	}
	clear(f.dirty)
	slices.SortFunc(line.Rooms, func(a, b Room) int { return cmp.Compare(a.Rev, b.Rev) })
	return line
}
