// Package worker hosts rooms: the expensive game processes that masters compete
// for. A room takes a while to boot, occupies memory, gives away its seats one by
// one and closes some time after the last is taken. The worker decides who gets a
// seat, and it is the oracle of the lab: each change of a room is recorded under
// the same mutex that makes it true.
//
//	order ──> starting ──boot──> open ──last seat──> full ──life──> closed
//	              │                └──────────max_open──────────────^
//	              └──last seat──> full (boots on; life counts from the later of both)
//
// A room that has been full never has a free seat again.
//
// # HTTP API
//
// Bodies are JSON. Unknown fields are refused. Names
// (group, order, by, player) have 1 to 128 bytes. Every
// request bears the token that the worker was given, which only the run's masters have:
// no other program can order a room that the oracle counts (401).
//
//	POST /v1/rooms {"group":"g","order":"o-1","by":"master-a"}
//	     200 the room, new or made by this order before
//	     507 capacity
//	POST /v1/rooms/{id}/seats {"player":"p"}
//	     200 the room; again for the same player: no second seat
//	     409 full, closed; 404 not-found
//	GET  /v1/rooms?group=g   the live rooms of a group
//	GET  /v1/feed            one JSON object a line, for as long as the client stays
//
// Of two answers about a room, the one with the higher rev is newer. A line of the feed ([FeedLine]) has closed rooms,
// too; there is at most one in 5 ms. An error reads {"error":{"kind":"full","message":"..."}}.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/workloads/history"
)

// Port is the name of the one port of the role.
const Port = "http"

// Room is a room as the API shows it.
type Room struct {
	ID       string `json:"room"`
	Group    string `json:"group"`
	Worker   string `json:"worker"`
	State    string `json:"state"` // as in histories
	Capacity int    `json:"capacity"`
	Free     int    `json:"free"`
	// Rev is the worker's change counter at the room's last change.
	Rev uint64 `json:"rev"`
}

// Listing answers GET /v1/rooms. It holds every change up to Rev.
type Listing struct {
	// Incarnation differs after every restart of the worker, which loses all rooms.
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Live        int    `json:"live"` // rooms of all groups that are not closed
	RoomsMax    int    `json:"rooms_max"`
	Rooms       []Room `json:"rooms"`
}

// FeedLine is one line of the feed: all live rooms if it is the first, and those that changed since the line
// before in all others. None may have changed: the worker lives. With it a follower has every change up to Rev.
type FeedLine struct {
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Rooms       []Room `json:"rooms,omitzero"`
}

// OrderRequest is the body of POST /v1/rooms.
type OrderRequest struct {
	Group string `json:"group"`
	Order string `json:"order"` // names the order: repeating it makes no second room
	By    string `json:"by"`    // the master
}

// SeatRequest is the body of POST /v1/rooms/{id}/seats.
type SeatRequest struct {
	Player string `json:"player"`
}

// The kinds of refusals, which say what a client should do next. A refused request surely
// had no effect.
const (
	KindNotFound = "not-found" // 404
	KindFull     = "full"      // 409: look for another room
	KindClosed   = "closed"    // 409: look for another room
	KindCapacity = "capacity"  // 507: no space for another room
)

// Service is what a worker serves beside its rooms, below its path.
type Service interface {
	http.Handler
	Close()
}

// Mount makes a service for a worker whose requests bear the token.
type Mount struct {
	Path string
	New  func(node *process.Node, token string) (Service, error)
}

// Role is what an agent must know to run workers with the mounts.
func Role(mounts ...Mount) role.Role {
	return role.Role{
		Name: role.Worker, Ports: []string{Port}, ClientPort: Port,
		Main: func(ctx context.Context, node *process.Node) error { return runNode(ctx, node, mounts) },
		Env:  process.Environment,
	}
}

func runNode(ctx context.Context, node *process.Node, mounts []Mount) error {
	settings, err := parseSettings(node.Settings)
	if err != nil {
		return err
	}
	w := New(settings, node.Recorder)
	node.Metrics.MustRegister(w)
	for _, m := range mounts {
		service, err := m.New(node, settings.Token)
		if err != nil {
			return fmt.Errorf("serve %s: %w", m.Path, err)
		}
		defer service.Close()
		w.Mount(m.Path, service)
	}
	return w.Serve(ctx, node.Addrs[Port], node.Log, func(net.Addr) { node.Ready() })
}

// Settings says how a worker behaves. What has no JSON name is set by tests only.
type Settings struct {
	// Name is the node's name; rooms carry it.
	Name string `json:"name"`
	// Capacity is the number of seats of a room.
	Capacity int `json:"capacity"`
	// Token is what every request must bear, so that only the run's masters order rooms;
	// "" lets every request in.
	Token string `json:"token,omitzero"`
	// Boot is how long a room takes to start.
	Boot time.Duration `json:"-"`
	// Life is how long a full room is played in before it closes.
	Life time.Duration `json:"-"`
	// MaxRooms bounds the rooms that are not closed.
	MaxRooms int `json:"-"`
	// Heartbeat is the longest silence on a feed: a quarter of what makes a master suspicious,
	// so that a busy machine does not make it ask workers that are well.
	Heartbeat time.Duration `json:"-"`
}

// DefaultSettings has everything but the name.
func DefaultSettings() Settings {
	return Settings{
		Capacity:  8,
		Boot:      150 * time.Millisecond,
		Life:      2 * time.Second,
		MaxRooms:  4096,
		Heartbeat: 100 * time.Millisecond,
	}
}

// parseSettings reads JSON on top of the defaults and checks the result.
func parseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := strictjson.Decode(text, &s); err != nil {
		return Settings{}, fmt.Errorf("read worker settings: %w", err)
	}
	err := CheckName("name", s.Name)
	if s.Capacity < 1 {
		err = errors.Join(err, fmt.Errorf("capacity is %d: want 1 or more", s.Capacity))
	}
	if err != nil {
		return Settings{}, fmt.Errorf("worker settings: %w", err)
	}
	return s, nil
}

const nameBytesMax = 128

// CheckName refuses names that are empty or long.
func CheckName(field, value string) error {
	if value == "" || len(value) > nameBytesMax {
		return fmt.Errorf("field %q has %d bytes: want 1 to %d: %w", field, len(value), nameBytesMax, httpapi.ErrInvalid)
	}
	return nil
}

// Worker is one worker. It starts empty: no room survives a restart. It collects its metrics, in which
// the result of a request is ok or the kind of refusal.
type Worker struct {
	*httpapi.API
	prometheus.Collector
	settings Settings
	rooms    *rooms
	orders   *prometheus.CounterVec
}

// New makes a worker, whose rooms go to the recorder. Serve it, or use it as a handler and Close it.
func New(settings Settings, recorder history.Recorder) *Worker {
	metrics := prometheus.NewRegistry()
	w := &Worker{
		API:       httpapi.New(httpapi.Config{Name: "worker " + settings.Name, Token: settings.Token}),
		Collector: metrics,
		settings:  settings,
		rooms:     newRooms(settings, recorder),
		orders: promauto.With(metrics).NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_room_orders_total", Help: "Orders of rooms, by result: ok, or why they were refused.",
		}, []string{"result"}),
	}
	for _, state := range []string{history.RoomStarting, history.RoomOpen, history.RoomFull} {
		promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
			Name: "locklab_rooms", Help: "Rooms that are not closed, by state.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return w.rooms.count(state) })
	}
	httpapi.Post(w.API, "POST /v1/rooms", w.handleOrder)
	httpapi.Post(w.API, "POST /v1/rooms/{id}/seats", w.handleSeat)
	w.Get("GET /v1/rooms", func(r *http.Request) (any, error) { return w.rooms.list(r.FormValue("group")), nil })
	w.Stream("GET /v1/feed", w.handleFeed)
	return w
}

// Close closes all rooms, and records it.
func (w *Worker) Close() { w.rooms.shut() }

// Serve listens on addr (host:port), calls ready with the bound address once the worker
// answers there, and serves until ctx ends; then it closes the worker. The error is nil
// when ctx ended it.
func (w *Worker) Serve(ctx context.Context, addr string, log *slog.Logger, ready func(net.Addr)) error {
	defer w.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for worker %s: %w", w.settings.Name, err)
	}
	ready(listener.Addr())
	return httpapi.Serve(ctx, listener, w, log)
}

func (w *Worker) handleOrder(_ *http.Request, req OrderRequest) (any, error) {
	err := errors.Join(CheckName("group", req.Group), CheckName("order", req.Order), CheckName("by", req.By))
	if err != nil {
		return nil, err
	}
	room, err := w.rooms.order(req)
	result := "ok"
	if err != nil {
		result = httpapi.KindOf(err)
	}
	w.orders.WithLabelValues(result).Inc()
	return room, err
}

func (w *Worker) handleSeat(r *http.Request, req SeatRequest) (any, error) {
	if err := CheckName("player", req.Player); err != nil {
		return nil, err
	}
	return w.rooms.seat(r.PathValue("id"), req.Player)
}

// feedGap is the shortest time between two lines of a feed: changes within it travel
// together.
const feedGap = 5 * time.Millisecond

// handleFeed writes lines until the client leaves or the worker stops.
func (w *Worker) handleFeed(rw http.ResponseWriter, r *http.Request) error {
	f := w.rooms.subscribe()
	defer f.unsubscribe()
	rw.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(rw)
	for r.Context().Err() == nil {
		text, err := json.Marshal(f.take())
		if err == nil {
			_, err = rw.Write(append(text, '\n'))
		}
		if err != nil || out.Flush() != nil {
			break // the client has gone, and something was written
		}
		_ = clock.Sleep(r.Context(), feedGap) // the loop looks at the context
		clock.Await(clock.System(), w.settings.Heartbeat-feedGap, f.wake)
	}
	return nil
}

func refuse(status int, kind, format string, args ...any) *httpapi.Error {
	return &httpapi.Error{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}
