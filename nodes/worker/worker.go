package worker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Worker is one worker. It starts empty: no room survives a restart.
type Worker struct {
	settings Settings
	log      *slog.Logger
	rooms    *rooms
	http     *httpapi.API
	metrics  metrics
	stopping chan struct{} // closed by Close: feeds would otherwise hold Serve up
	stopOnce sync.Once
}

// New checks the settings and makes a worker, whose rooms go to the recorder. Serve it, or
// mount its Handler and Close it.
func New(settings Settings, recorder history.Recorder, log *slog.Logger) (*Worker, error) {
	if err := settings.validate(); err != nil {
		return nil, err
	}
	incarnation := strconv.FormatUint(uint64(clock.Mono()), 36)
	w := &Worker{
		settings: settings,
		log:      log,
		rooms:    newRooms(settings, incarnation, recorder),
		stopping: make(chan struct{}),
		metrics:  newMetrics(),
	}
	w.http = w.api()
	return w, nil
}

// Close ends the feeds, closes all rooms, recording it, and refuses new ones.
func (w *Worker) Close() {
	w.stopOnce.Do(func() { close(w.stopping) })
	w.rooms.shut()
}

// Serve listens on addr (host:port), calls ready with the bound address once the worker
// answers there, and serves until ctx ends; then it closes the worker. The error is nil
// when ctx ended it.
func (w *Worker) Serve(ctx context.Context, addr string, ready func(net.Addr)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for worker %s: %w", w.settings.Name, err)
	}
	ready(listener.Addr())
	return httpapi.Serve(ctx, listener, w.http, w.Close, w.log)
}
