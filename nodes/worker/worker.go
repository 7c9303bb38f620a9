package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"locklab/locks/clock"
	"locklab/nodes/worker/web"
	"locklab/workloads/history"
)

// Deps is what a worker gets from whoever runs it. Recorder is needed, the rest
// has defaults.
type Deps struct {
	Recorder history.Recorder
	Clock    clock.Clock  // clock.System()
	Log      *slog.Logger // discarded
}

// Worker is one worker. It starts empty: no room survives a restart.
type Worker struct {
	settings Settings
	clock    clock.Clock
	log      *slog.Logger
	hall     *hall
	json     *web.JSON
	stopping chan struct{} // closed by Close: feeds would otherwise hold Serve up
	stopOnce sync.Once
}

// New checks the settings and makes a worker. Serve it, or mount its Handler and
// Close it.
func New(settings Settings, deps Deps) (*Worker, error) {
	if err := settings.validate(); err != nil {
		return nil, err
	}
	if deps.Recorder == nil {
		return nil, errors.New("new worker: no recorder given")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System()
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	incarnation := strconv.FormatUint(uint64(clock.Mono()), 36)
	return &Worker{
		settings: settings,
		clock:    deps.Clock,
		log:      deps.Log,
		hall:     newHall(settings, incarnation, deps.Clock, deps.Recorder),
		json:     web.NewJSON(deps.Log),
		stopping: make(chan struct{}),
	}, nil
}

// Close ends the feeds, closes all rooms, recording it, and refuses new ones.
func (w *Worker) Close() {
	w.stopOnce.Do(func() { close(w.stopping) })
	w.hall.shut()
}

// Serve answers on the listener until ctx ends, then closes the worker. It closes
// the listener. The error is nil when ctx ended it.
func (w *Worker) Serve(ctx context.Context, listener net.Listener) error {
	return web.Serve(ctx, listener, w.Handler(), w.Close, w.log)
}

// Run listens on addr (host:port), calls ready with the bound address once the
// worker answers there, and serves until ctx ends.
func Run(ctx context.Context, settings Settings, deps Deps, addr string, ready func(net.Addr)) error {
	w, err := New(settings, deps)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for worker %s: %w", settings.Name, err)
	}
	if ready != nil {
		ready(listener.Addr())
	}
	return w.Serve(ctx, listener)
}
