package mutex

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"locklab/internal/httpapi"
	"locklab/locks"
	"locklab/workloads/history"
)

// The values of Status.State.
const (
	StateIdle    = "idle"    // no plan was started in this life of the process
	StateRunning = "running" // the plan runs, or is stopping
	StateDone    = "done"    // the plan is over and everything was released
)

// Status is how a master's plan is going.
type Status struct {
	ID       string `json:"id,omitzero"`
	State    string `json:"state"`
	Acquired uint64 `json:"acquired"`
	Failed   uint64 `json:"failed"` // failed or unknown
	Unsent   uint64 `json:"unsent"`
	Error    string `json:"error,omitzero"`
}

// Prefix is where a master serves the workload.
const Prefix = "/v1/workload/"

// Config is the workload's side in a master.
type Config struct {
	Path     string // where it is mounted, such as [Prefix]
	Node     string // the master's name in the history
	Token    string // what requests must bear, if anything
	Locker   locks.Locker
	Recorder history.Recorder
	// Granted, if set, is told of a grant before the holder does the first thing that others
	// can see: Use must call it for itself.
	Granted func(resource string)
	// Use is what a client does while it holds; nil is nothing, for the time of the plan.
	// It may go on after the lease is lost: that is on record then.
	Use func(context.Context, *Held)
}

// Held is a hold to be made use of.
type Held struct {
	locks.Lease
	Plan                 *Plan
	Client, ID, Resource string
	Fence                locks.Token // 0 if the lock has none
}

// Workload runs plans inside a master.
type Workload struct {
	*httpapi.API
	Config

	mu     sync.Mutex
	job    *job // the last one, nil before the first
	closed bool
}

var _ http.Handler = (*Workload)(nil)

// Handler is the workload's side in the master. Close it before the locker.
func Handler(c Config) *Workload {
	w := &Workload{API: httpapi.New(httpapi.Config{Name: "run", Token: c.Token, MaxBody: maxBody}), Config: c}
	httpapi.Post(w.API, "POST "+c.Path+"start", w.start)
	w.Get("GET "+c.Path+"status", func(*http.Request) (any, error) { return w.status(), nil })
	httpapi.Post(w.API, "POST "+c.Path+"stop", func(*http.Request, struct{}) (any, error) { return w.stop(), nil })
	return w
}

// Close stops the plan and waits until everything was released.
func (w *Workload) Close() {
	w.mu.Lock()
	w.closed = true
	j := w.job
	w.mu.Unlock()
	if j != nil {
		j.cancel()
		<-j.done
	}
}

func (w *Workload) start(r *http.Request, plan Plan) (any, error) {
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("read plan: %w: %w", err, httpapi.ErrInvalid)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return nil, fmt.Errorf("the master is closing: %w", httpapi.ErrClosed)
	case w.job != nil && w.job.runner.plan.ID == plan.ID: // told twice
	case w.job != nil && !w.job.finished():
		return nil, fmt.Errorf("plan %s is still running: %w", w.job.runner.plan.ID, httpapi.ErrConflict)
	default:
		// The plan outlives the request that starts it.
		w.job = startJob(context.WithoutCancel(r.Context()), newRunner(plan, w.Config))
	}
	return statusOf(w.job), nil
}

func (w *Workload) stop() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.job != nil {
		w.job.cancel()
	}
	return statusOf(w.job)
}

func (w *Workload) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return statusOf(w.job)
}

func statusOf(j *job) Status {
	if j == nil {
		return Status{State: StateIdle}
	}
	s := Status{
		ID: j.runner.plan.ID, State: StateRunning,
		Acquired: j.runner.acquired.Load(), Failed: j.runner.failed.Load(), Unsent: j.runner.unsent.Load(),
	}
	if j.finished() {
		s.State = StateDone
		if j.err != nil {
			s.Error = j.err.Error()
		}
	}
	return s
}
