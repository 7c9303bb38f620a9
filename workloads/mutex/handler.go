// Package mutex is the raw lock workload: clients acquire a resource, hold it for
// a while and release it. The clients run inside the masters, next to the lock
// client, so that no RPC of the load generator is part of a lock's latency; the
// controller only tells the masters what to run.
//
//	controller                         each master
//	Client.Run ──POST /v1/workload/start──▶ Workload ──▶ runner ──▶ locks.Locker
//	           ◀──GET  /v1/workload/status──    │
//	           ──POST /v1/workload/stop────▶    └──▶ history.Recorder
//	                                                 acquire, release, lost
//
// In the open loop (Load.Rate above 0) acquisitions are due by schedule, and their
// latency counts from that time; each takes one of the master's clients, and waits
// when all are busy. In the closed loop each client starts again when it is done.
//
// A master that is restarted during the run has lost its load; the controller notices and starts it again for the
// rest of the time.
//
//	POST start  {"clients":16,"resources":4,"hold_ns":1000000,...}; ignored if a load was started before
//	GET  status → {"state":"running"}
//	POST stop   the state is "done" once everything was released
//
// Errors are {"error":{"kind":"invalid","message":"..."}} with 400.
//
// # Handoff
//
// The workload handoff is this one with a single resource. It measures how the resource passes from one client to
// the next: the time from when a holder stops acting until a waiting client holds, and the wake-ups and messages
// for it.
//
//	holder   ──────────release
//	waiter 1 ··················grant ─────release          a handoff is release to grant
//	waiter 2 ·················▲···················grant    woken in vain: the herd
//
// A client that asks again right after its release and gets the lock before those who were waiting has barged in,
// and they wait on: that is no handoff.
package mutex

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"locklab/internal/httpapi"
)

// Workload runs a load inside a master.
type Workload struct {
	*httpapi.API
	Config

	mu     sync.Mutex
	runner *runner // nil before the load was started
	closed bool
}

// Handler is the workload's side in the master. Close it before the locker.
func Handler(c Config) *Workload {
	w := &Workload{API: httpapi.New(httpapi.Config{Name: "run", Token: c.Token}), Config: c}
	httpapi.Post(w.API, "POST "+Path+"start", w.start)
	w.Get("GET "+Path+"status", func(*http.Request) (any, error) { return w.status(), nil })
	httpapi.Post(w.API, "POST "+Path+"stop", func(*http.Request, struct{}) (any, error) { return w.stop(), nil })
	return w
}

// Close stops the load and waits until everything was released.
func (w *Workload) Close() {
	w.mu.Lock()
	w.closed = true
	r := w.runner
	w.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.done
	}
}

func (w *Workload) start(r *http.Request, load Load) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("the master is closing: %w", httpapi.ErrClosed)
	}
	if w.runner == nil { // else the request was repeated
		// The load outlives the request that starts it.
		w.runner = startRunner(context.WithoutCancel(r.Context()), load, w.Config)
	}
	return w.runner.status(), nil
}

func (w *Workload) stop() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runner != nil {
		w.runner.cancel()
	}
	return w.runner.status()
}

func (w *Workload) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runner.status()
}
