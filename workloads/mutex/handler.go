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
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/workloads/history"
)

// Load is what each master runs.
type Load struct {
	// Clients is the number of clients on each master.
	Clients int `json:"clients"`
	// Resources is how many resources all clients compete for, together.
	Resources int `json:"resources"`
	// Hold is how long a client holds a resource.
	Hold time.Duration `json:"hold_ns,format:nano"`
	// Rate is the number of acquisitions per second and master that are due, with
	// Poisson arrivals; 0 is the closed loop.
	Rate float64 `json:"rate_per_s"`
	// Timeout is how long a client waits for one acquisition, and for a release.
	Timeout time.Duration `json:"timeout_ns,format:nano"`
	// Second is how long a limit of one second is with the topology's round trips; 0 is one second.
	Second time.Duration `json:"second_ns,omitzero,format:nano"`
	// Writes has holders write to the store of package fencedwrite, without their tokens if Unfenced is set.
	Writes   bool          `json:"writes,omitzero"`
	Unfenced bool          `json:"unfenced,omitzero"`
	Seed     seed.Seed     `json:"seed"`
	Warmup   time.Duration `json:"warmup_ns,format:nano"`
	Duration time.Duration `json:"duration_ns,format:nano"` // measured, after the warm-up
	// Elapsed is how much of warm-up and duration is already over when the master
	// gets the load: set by the controller when it starts a master again.
	Elapsed time.Duration `json:"elapsed_ns,format:nano"`
}

// The bounds of a load keep a mistake from taking a host down.
const (
	MaxClients   = 10_000
	MaxResources = 1_000_000
)

// The values of Status.State.
const (
	StateIdle    = "idle"    // no load was started in this life of the process
	StateRunning = "running" // the load runs, or is stopping
	StateDone    = "done"    // the load is over and everything was released
)

// Status is how a master's load is going.
type Status struct {
	State string `json:"state"`
}

// Path is where a master serves the workload.
const Path = "/v1/workload/"

// Config is the workload's side in a master.
type Config struct {
	Node     string // the master's name in the history
	Token    string // what requests must bear, if anything
	Locker   locks.Locker
	Recorder history.Recorder
	// Granted, if set, is called after a grant, before the holder does the first thing that others can see. Use must
	// call it itself.
	Granted func(resource string)
	// Use is what a client does while it holds, if the load wants writes. It may go on after the lease is lost, which
	// is then on record.
	Use func(context.Context, *Held)
}

// Held is a hold that Use works with.
type Held struct {
	locks.Lease
	Load         *Load
	ID, Resource string
	Fence        locks.Token // 0 if the lock has none
}

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
