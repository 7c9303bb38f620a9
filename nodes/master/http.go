package master

import (
	"context"
	"errors"
	"io"
	"net/http"

	"locklab/locks"
	"locklab/nodes/worker"
	"locklab/nodes/worker/web"
)

// ErrorReply is the body of every answer that is not a success.
type ErrorReply struct {
	Error ErrorBody `json:"error"`
	// Outcome is "unknown" when a seat may be taken or a room ordered all the same.
	Outcome locks.Outcome `json:"outcome"`
}

// ErrorBody names an error in one word and in a sentence.
type ErrorBody struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Status answers GET /v1/status.
type Status struct {
	Name     string         `json:"name"`
	Zone     string         `json:"zone"`
	Lock     string         `json:"lock"`
	Holds    []Held         `json:"holds"`
	Waiting  int            `json:"waiting"` // for a lock
	Matches  int            `json:"matches"` // under way
	Rooms    int            `json:"rooms"`   // known
	Messages uint64         `json:"messages"`
	Workers  []WorkerStatus `json:"workers"`
}

// WorkerStatus is one worker as this master sees it. Feed is "live", "silent" (its
// connection stands) or "down".
type WorkerStatus struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	Feed string `json:"feed"`
}

// Handler serves the API and what is mounted beside it.
func (m *Master) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/match", m.serveMatch)
	mux.HandleFunc("GET /v1/status", func(rw http.ResponseWriter, _ *http.Request) {
		m.json.Reply(rw, http.StatusOK, m.Status())
	})
	mux.HandleFunc("GET /v1/health", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusNoContent)
	})
	for pattern, handler := range m.mounts {
		mux.Handle(pattern, handler)
	}
	return mux
}

func (m *Master) serveMatch(rw http.ResponseWriter, r *http.Request) {
	req, err := decodeMatch(web.Bounded(rw, r))
	if err != nil {
		m.json.Reply(rw, web.StatusOf(err), ErrorReply{
			Error:   ErrorBody{Kind: "invalid", Message: err.Error()},
			Outcome: locks.OutcomeFailed,
		})
		return
	}
	match, outcome, err := m.Match(r.Context(), req)
	if err != nil {
		m.json.Reply(rw, http.StatusServiceUnavailable, ErrorReply{
			Error:   ErrorBody{Kind: kindOf(err), Message: err.Error()},
			Outcome: outcome,
		})
		return
	}
	m.json.Reply(rw, http.StatusOK, match)
}

func decodeMatch(body io.Reader) (MatchRequest, error) {
	var req MatchRequest
	if err := web.Decode(body, &req); err != nil {
		return MatchRequest{}, err
	}
	return req, errors.Join(web.CheckName("player", req.Player), web.CheckName("group", req.Group))
}

// Match finds a seat for the player. The outcome is ok with a nil error, unknown
// when a seat may have been taken or a room ordered in spite of the error, and
// failed when surely nothing was.
func (m *Master) Match(ctx context.Context, req MatchRequest) (Match, locks.Outcome, error) {
	if err := m.begin(); err != nil {
		return Match{}, locks.OutcomeFailed, err
	}
	defer m.finish()
	ctx, cancel := context.WithTimeout(ctx, m.settings.MatchTimeout)
	defer cancel()
	a := &attempt{Master: m, client: req.Player, player: req.Player, group: req.Group}
	match, err := a.match(ctx)
	switch {
	case err == nil:
		return match, locks.OutcomeOK, nil
	case a.unknown:
		return Match{}, locks.OutcomeUnknown, err
	default:
		return Match{}, locks.OutcomeFailed, err
	}
}

// Status shows what the master holds and sees.
func (m *Master) Status() Status {
	held, waiting := m.locker.Holds()
	s := Status{
		Name: m.settings.Name, Zone: m.settings.Zone, Lock: m.settings.Lock,
		Holds: held, Waiting: waiting, Matches: int(m.matches.Load()),
		Messages: m.locker.MessagesSent(),
	}
	s.Rooms, s.Workers = m.directory.status(m.remotes)
	return s
}

func (d *directory) status(remotes []*remote) (rooms int, workers []WorkerStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range remotes {
		feed := "live"
		switch {
		case !d.sites[r].following:
			feed = "down"
		case d.suspectLocked(r, d.clock.Now()):
			feed = "silent"
		}
		workers = append(workers, WorkerStatus{Name: r.name, Zone: r.zone, Feed: feed})
	}
	return d.rooms, workers
}

// kindOf names an error in one word: the worker's own for its refusals, and
// otherwise those of locks.ErrorKind and a few that a matchmaker adds.
func kindOf(err error) string {
	switch kind := refusalKind(err); {
	case kind != "":
		return kind
	case errors.Is(err, errNoWorker), errors.Is(err, errNotSent):
		return "unavailable"
	case errors.Is(err, errCapacity):
		return worker.KindCapacity
	case errors.Is(err, errStopping):
		return worker.KindStopping
	case errors.Is(err, errOverloaded):
		return "overloaded"
	default:
		return locks.ErrorKind(err)
	}
}
