// Package worker hosts rooms: the expensive game processes that masters compete for. A room
// takes a while to boot, occupies memory, gives its seats one by one and closes some time after
// the last is taken. The worker decides which player gets a seat, and is the oracle of the lab:
// it records each change of a room under the mutex that guards the change.
//
//	order ──> starting ──boot──> open ──last seat──> full ──life──> closed
//	              │                └──────────max_open──────────────^
//	              └──last seat──> full (boot continues; life counts from the later of both)
//
// A room that has been full never has a free seat again.
//
// # HTTP API
//
// Bodies are JSON. Unknown fields are refused. Names (group, order, by, player) have 1 to 128 bytes. Every
// request must have the worker's token (401), which only the run's masters know: no other program can order
// a room that the oracle counts.
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
// Of two answers about a room, the one with the higher rev is newer. A line of the feed ([FeedLine]) also has closed
// rooms; lines come at least 5 ms apart. An error is {"error":{"kind":"full","message":"..."}}.
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
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/workloads/history"
)

// Service is an additional service of a worker, below its own path.
type Service interface {
	http.Handler
	Close()
}

// Mount makes a service for a worker. Its requests must have the token.
type Mount struct {
	Path string
	New  func(node *process.Node, token string) (Service, error)
}

// Role describes the role, with the mounts, to an agent.
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

// Worker is one worker. It starts without rooms. In its metrics the result of a request is ok or the kind of
// refusal.
type Worker struct {
	*httpapi.API
	prometheus.Collector
	settings Settings
	rooms    *rooms
	orders   *prometheus.CounterVec
}

// New makes a worker that records its rooms to the recorder. Serve it, or use it as a handler and Close it.
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

// Close closes all rooms, and records that.
func (w *Worker) Close() { w.rooms.shut() }

// Serve listens on addr (host:port), calls ready with the bound address, and serves until ctx
// ends; then it closes the worker and returns nil.
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

// feedGap is the shortest time between two lines of a feed: changes within it share a line.
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
			break // the client has gone; an error can no longer be sent
		}
		_ = clock.Sleep(r.Context(), feedGap) // the loop checks the context
		clock.Await(clock.System(), w.settings.Heartbeat-feedGap, f.wake)
	}
	return nil
}
