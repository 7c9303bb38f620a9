package master

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"locklab/internal/httpapi"
	"locklab/internal/tracing"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/worker"
)

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

// bodyMax bounds the bytes of a request.
const bodyMax = 4 << 10

// Handler serves the API and what is mounted beside it.
func (m *Master) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "master " + m.settings.Name, MaxBody: bodyMax, Log: m.log, Level: slog.LevelDebug})
	httpapi.Post(a, "POST /v1/match", m.handleMatch)
	a.Get("GET /v1/status", func(*http.Request) (any, error) { return m.Status(), nil })
	a.Get("GET /v1/health", func(*http.Request) (any, error) { return nil, nil })
	for pattern, handler := range m.mounts {
		a.Mount(pattern, handler)
	}
	return a
}

func (m *Master) handleMatch(r *http.Request, req MatchRequest) (any, error) {
	if err := errors.Join(worker.CheckName("player", req.Player), worker.CheckName("group", req.Group)); err != nil {
		return nil, err
	}
	if httpapi.Left(r) { // a seat taken for somebody who is gone would be missed by who waits
		return httpapi.More{"outcome": locks.OutcomeFailed}, &httpapi.Error{Status: http.StatusServiceUnavailable, Kind: "canceled", Message: "the player has left"}
	}
	ctx, span := m.tracer.Join(r.Context(), r.Header.Get(tracing.Header), "match")
	match, outcome, err := m.Match(ctx, req)
	span.End(err, "group", req.Group, "room", match.Room, "outcome", string(outcome))
	if err != nil {
		// Not the worker's own refusal: its status says nothing of this request.
		refusal := &httpapi.Error{Status: http.StatusServiceUnavailable, Kind: kindOf(err), Message: err.Error()}
		return httpapi.More{"outcome": outcome}, refusal
	}
	return match, nil
}

// Match finds a seat for the player. The outcome is ok with a nil error, unknown
// when a seat may have been taken or a room ordered in spite of the error, and
// failed when surely nothing was.
func (m *Master) Match(ctx context.Context, req MatchRequest) (_ Match, outcome locks.Outcome, _ error) {
	began := clock.Mono()
	defer func() { m.metrics.took.WithLabelValues(string(outcome)).Observe(seconds(clock.Mono() - began)) }()
	if err := m.begin(); err != nil {
		return Match{}, locks.OutcomeFailed, err
	}
	defer m.finish()
	ctx, cancel := context.WithTimeout(ctx, m.settings.MatchTimeout+2*m.settings.Hold)
	defer cancel()
	a := &attempt{Master: m, player: req.Player, group: req.Group}
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

// kindOf names an error in one word: the worker's own for its refusals, and
// otherwise those of locks.ErrorKind and a few that a matchmaker adds.
func kindOf(err error) string {
	switch kind := httpapi.KindOf(err); {
	case kind != "":
		return kind
	case errors.Is(err, errNoWorker), errors.Is(err, httpapi.ErrNotSent):
		return "unavailable"
	case errors.Is(err, errCapacity):
		return worker.KindCapacity
	case errors.Is(err, errStopping):
		return worker.KindStopping
	default:
		return locks.ErrorKind(err)
	}
}
