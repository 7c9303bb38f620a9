package mutex

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

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
	ID       string `json:"id,omitempty"`
	State    string `json:"state"`
	Acquired uint64 `json:"acquired"`
	Failed   uint64 `json:"failed"` // failed or unknown
	Unsent   uint64 `json:"unsent"`
	Error    string `json:"error,omitempty"`
}

// Workload runs plans inside a master. Mount it at /v1/workload/.
type Workload struct {
	node   string
	locker locks.Locker
	rec    history.Recorder
	mux    *http.ServeMux

	mu     sync.Mutex
	job    *job // the last one, nil before the first
	closed bool
}

var _ http.Handler = (*Workload)(nil)

// Handler is the workload's side in the master: node is the master's name in the
// history, locker its lock client. Close it before the locker.
func Handler(node string, locker locks.Locker, rec history.Recorder) *Workload {
	w := &Workload{node: node, locker: locker, rec: rec, mux: http.NewServeMux()}
	w.mux.HandleFunc("POST /v1/workload/start", w.start)
	w.mux.HandleFunc("GET /v1/workload/status", w.status)
	w.mux.HandleFunc("POST /v1/workload/stop", w.stop)
	return w
}

// ServeHTTP serves the paths below /v1/workload/.
func (w *Workload) ServeHTTP(out http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(out, r) }

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

func (w *Workload) start(out http.ResponseWriter, r *http.Request) {
	plan, err := readPlan(http.MaxBytesReader(out, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(out, http.StatusRequestEntityTooLarge, "invalid", err.Error())
		return
	case err != nil:
		refuse(out, http.StatusBadRequest, "invalid", err.Error())
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		refuse(out, http.StatusServiceUnavailable, "closed", "the master is closing")
		return
	case w.job != nil && w.job.runner.plan.ID == plan.ID: // told twice
	case w.job != nil && !w.job.finished():
		refuse(out, http.StatusConflict, "conflict", "plan "+w.job.runner.plan.ID+" is still running")
		return
	default:
		// The plan outlives the request that starts it.
		w.job = startJob(context.WithoutCancel(r.Context()), newRunner(plan, w.node, w.locker, w.rec))
	}
	reply(out, http.StatusAccepted, statusOf(w.job))
}

func (w *Workload) stop(out http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.job != nil {
		w.job.cancel()
	}
	reply(out, http.StatusAccepted, statusOf(w.job))
}

func (w *Workload) status(out http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	reply(out, http.StatusOK, statusOf(w.job))
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

func reply(out http.ResponseWriter, code int, body any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(body) // the client has gone: nothing to do about it
}

func refuse(out http.ResponseWriter, code int, kind, message string) {
	var body struct {
		Error struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Kind, body.Error.Message = kind, message
	reply(out, code, body)
}
