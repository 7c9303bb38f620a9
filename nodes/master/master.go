// Package master is the matchmaking server: it finds a seat in a room for each
// player, and has a room made where there is none. Rooms are expensive, so however
// many masters are asked at the same time by players of one group, one room is to
// be made: that is what the lock under test is for.
//
//	player ──> known rooms, most free seats first ──200──> seat
//	              │ none has a seat                   ^
//	              v                                   │ (a room turned up meanwhile:
//	           wait for the lock of the group ────────┤  give the wait up)
//	              │                                   │
//	              v                                   │
//	           look at all workers again ─────────────┤
//	              │ none has a seat, lock not lost    │
//	              v                                   │
//	           order a room, release the lock ────────┘
//
// What the master knows of rooms comes from the workers' feeds and may be old; the worker gives the seats
// (409 when the room is full). Requests under way count against the seats known, so that concurrent players
// spread over rooms. A worker that has been silent is suspect until it is heard of again: its rooms are not
// proposed, but under the lock it is asked all the same, with less patience.
//
// Everything that a worker is asked for may be repeated without a second effect,
// so a request that met a dead connection is repeated at the same worker. An order
// whose outcome stays unknown is never repeated at another one. A seat request that
// was not answered in time may leave an empty seat taken.
//
// # HTTP API
//
//	POST /v1/match {"player":"p","group":"g"}
//	     200 {"room":"w1-k3x9-12","worker":"w1","state":"open",...,"created":false}  the room
//	     503 {"error":{"kind":"timeout","message":"...","outcome":"failed"}}
//	GET  /v1/status  the holds of the lock, and how many wait for it
//
// outcome is "unknown" when a seat may be taken or a room ordered in spite of the error; a request that is wrong
// (400, 413) has none, and no effect. The kinds are those of locks.ErrorKind (timeout, unavailable, ...) and
// capacity, stopping.
package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	kit "locklab/internal/metrics"
	"locklab/internal/seed"
	"locklab/internal/strictjson"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/worker"
	"locklab/workloads/history"
)

// WorkerAddr says where a worker is to be reached from here: the address of the
// link to it.
type WorkerAddr struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	Addr string `json:"addr"` // host:port
}

// Settings says how a master behaves.
type Settings struct {
	Name    string       `json:"name"`
	Zone    string       `json:"zone"`
	Lock    string       `json:"lock"` // its name in traces and metrics; the lock itself is injected
	Workers []WorkerAddr `json:"workers"`
	// WorkerToken is what the workers want to see.
	WorkerToken string `json:"worker_token,omitzero"`
	// Hold is how long the lock is held at least before a room is ordered; 0 is no
	// longer than it takes.
	Hold time.Duration `json:"hold,format:units"`
	// Patience is how long players wait, 0 for [history.Patience]: a match request is given up before they leave.
	Patience time.Duration `json:"patience,omitzero,format:units"`
	// Second is how long a limit of one second is with the topology's round trips; 0 is one second. The time that a
	// worker has to answer scales with it.
	Second time.Duration `json:"second,omitzero,format:units"`

	Limits `json:"-"`
}

// Limits follow from Patience and Second; only tests set others.
type Limits struct {
	// MatchTimeout bounds a match request and AcquireTimeout its wait for the lock, but for the Hold of
	// another one, and its own. They follow the players' patience, all others a second.
	MatchTimeout, AcquireTimeout time.Duration
	ReleaseTimeout               time.Duration // of a release, and of an acquisition of the canary
	// LookTimeout bounds the question to a worker, under the lock, what rooms it has, and SuspectLookTimeout
	// that to one that seems to be out of reach.
	LookTimeout, SuspectLookTimeout time.Duration
	SeatTimeout, OrderTimeout       time.Duration // of a seat in one room, and of a room
	// FeedSilence is after how long without a line from its feed a worker is suspect, and FeedReset when the
	// feed is dialled anew.
	FeedSilence, FeedReset time.Duration
	ReadyTimeout           time.Duration // for which readiness waits for feeds that do not come
}

// DefaultSettings has everything but names and addresses.
func DefaultSettings() Settings {
	return Settings{Limits: Limits{
		MatchTimeout:       2 * time.Second,
		AcquireTimeout:     time.Second,
		ReleaseTimeout:     time.Second,
		LookTimeout:        500 * time.Millisecond,
		SuspectLookTimeout: 200 * time.Millisecond,
		SeatTimeout:        500 * time.Millisecond,
		OrderTimeout:       500 * time.Millisecond,
		FeedSilence:        400 * time.Millisecond,
		FeedReset:          time.Second,
		ReadyTimeout:       2 * time.Second,
	}}
}

// ParseSettings reads JSON on top of the defaults. The limits follow Patience and Second.
func ParseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := strictjson.Decode(text, &s); err != nil {
		return Settings{}, fmt.Errorf("read master settings: %w", err)
	}
	scale := func(by, usual time.Duration, limits ...*time.Duration) {
		for _, limit := range limits {
			if by > 0 {
				*limit = time.Duration(float64(*limit) * float64(by) / float64(usual))
			}
		}
	}
	scale(s.Patience, history.Patience, &s.MatchTimeout, &s.AcquireTimeout)
	scale(s.Second, time.Second, &s.ReleaseTimeout, &s.LookTimeout, &s.SuspectLookTimeout, &s.SeatTimeout, &s.OrderTimeout,
		&s.FeedSilence, &s.FeedReset, &s.ReadyTimeout)
	return s, nil
}

// Deps is what a master is run with. All but the Mounts is needed.
type Deps struct {
	Recorder history.Recorder
	// Locker is the lock under test. The master does not close it.
	Locker *Tracker
	Log    *slog.Logger
	Seed   seed.Seed
	// Mounts are handlers beside the master's own, by pattern of http.ServeMux.
	Mounts map[string]http.Handler
}

// Master is one matchmaking server. It collects how long matches take.
type Master struct {
	*prometheus.HistogramVec
	Deps
	settings    Settings
	incarnation string

	remotes   []*remote
	directory *directory
	ids       atomic.Uint64

	open   sync.RWMutex // read-locked by each match, and locked for good by Close
	closed sync.Once

	stop       context.CancelFunc // ends the feeds
	feeds      sync.WaitGroup     // and the canary
	background sync.WaitGroup     // acquisitions, watches and releases
}

// New starts to follow the workers, until ctx ends or the master is closed. Call Close in any case.
func New(ctx context.Context, settings Settings, deps Deps) *Master {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "locklab_match_duration_seconds", Help: "How long it took to find a player a seat, by outcome.",
		Buckets: kit.Buckets(),
	}, []string{"outcome"})
	incarnation := strconv.FormatUint(uint64(clock.Mono()), 36)
	m := &Master{HistogramVec: took, Deps: deps, settings: settings, incarnation: incarnation}
	for _, addr := range settings.Workers {
		m.remotes = append(m.remotes, newRemote(addr, settings.WorkerToken))
	}
	m.directory = newDirectory(settings.FeedSilence, m.remotes)
	ctx, m.stop = context.WithCancel(ctx)
	for _, r := range m.remotes {
		m.feeds.Go(func() { m.follow(ctx, r) })
	}
	return m
}

// Ready waits until the lock client is ready and every worker's feed has been
// heard of. Feeds may be missing after ReadyTimeout: a master must be able to start
// while a zone is away.
func (m *Master) Ready(ctx context.Context) error {
	if err := m.Locker.Ready(ctx); err != nil {
		return fmt.Errorf("wait for the lock: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, m.settings.ReadyTimeout)
	defer cancel()
	for !m.directory.follows() && waiting.Err() == nil {
		_ = clock.Sleep(waiting, 5*time.Millisecond) // the loop looks at the time
	}
	if waiting.Err() != nil {
		m.Log.Warn("ready without all workers")
	}
	return ctx.Err()
}

// Close refuses new matches, waits for those under way and for the release of what
// they held, and ends the feeds. The Locker stays open.
func (m *Master) Close() {
	m.closed.Do(func() {
		m.open.Lock() // for good
		m.stop()
		m.feeds.Wait()
		m.background.Wait()
		for _, r := range m.remotes {
			r.http.Close()
		}
	})
}

// Serve listens on addr (host:port), calls ready with the bound address once the master
// answers there and is ready, and serves until ctx ends; then it closes the master. Its canary
// asks for the lock meanwhile. The error is nil when ctx ended it.
func (m *Master) Serve(ctx context.Context, addr string, ready func(net.Addr)) error {
	defer m.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for master %s: %w", m.settings.Name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- httpapi.Serve(ctx, listener, m.Handler(), m.Log) }()
	if err := m.Ready(ctx); err == nil {
		m.feeds.Go(func() { m.canary(ctx) })
		ready(listener.Addr())
	} else if ctx.Err() == nil { // the lock is at fault, not the caller's leaving
		cancel()
		return errors.Join(err, <-served)
	}
	return <-served
}

// Status answers GET /v1/status.
type Status struct {
	Holds   []Held `json:"holds"`
	Waiting int    `json:"waiting"` // for a lock
}

// Handler serves the API and what is mounted beside it.
func (m *Master) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "master " + m.settings.Name})
	httpapi.Post(a, "POST /v1/match", m.handleMatch)
	a.Get("GET /v1/status", func(*http.Request) (any, error) { return m.Locker.Status(), nil })
	for pattern, handler := range m.Mounts {
		a.Mount(pattern, handler)
	}
	return a
}

func (m *Master) handleMatch(r *http.Request, req MatchRequest) (any, error) {
	if err := errors.Join(worker.CheckName("player", req.Player), worker.CheckName("group", req.Group)); err != nil {
		return nil, err
	}
	refuse := func(kind, why string, outcome locks.Outcome) error {
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Kind: kind, Message: why, Outcome: string(outcome)}
	}
	if httpapi.Left(r) { // a seat taken for a player that is gone would be missed by one that waits
		return nil, refuse("canceled", "the player has left", locks.OutcomeFailed)
	}
	match, outcome, err := m.Match(r.Context(), req)
	if err != nil {
		// Not the worker's own refusal: its status says nothing of this request.
		return nil, refuse(kindOf(err), err.Error(), outcome)
	}
	return match, nil
}

// Match finds a seat for the player. The outcome is ok with a nil error, unknown
// when a seat may have been taken or a room ordered in spite of the error, and
// failed when surely nothing was.
func (m *Master) Match(ctx context.Context, req MatchRequest) (match Match, outcome locks.Outcome, err error) {
	began := clock.Mono()
	defer func() { m.WithLabelValues(string(outcome)).Observe(seconds(clock.Mono() - began)) }()
	if !m.open.TryRLock() {
		return Match{}, locks.OutcomeFailed, errStopping
	}
	defer m.open.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, m.settings.MatchTimeout+2*m.settings.Hold)
	defer cancel()
	a := &attempt{Master: m, player: req.Player, group: req.Group}
	if match, err = a.match(ctx); err == nil {
		return match, locks.OutcomeOK, nil
	}
	if a.unknown {
		return Match{}, locks.OutcomeUnknown, err
	}
	return Match{}, locks.OutcomeFailed, err
}

// kindOf names an error in one word: the worker's own for its refusals, and
// otherwise those of locks.ErrorKind and a few that a matchmaker adds.
func kindOf(err error) string {
	if kind := httpapi.KindOf(err); kind != "" {
		return kind
	}
	if errors.Is(err, httpapi.ErrNotSent) {
		return "unavailable"
	}
	return locks.ErrorKind(err)
}
