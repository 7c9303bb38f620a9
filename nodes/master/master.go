// Package master is the matchmaking server: it finds a seat in a room for each
// player, and orders a new room if there is none. Rooms are expensive, so concurrent
// requests of one group at several masters must make only one room: the lock under
// test ensures that.
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
// The master knows rooms from the workers' feeds, which may be old; the worker decides about seats (409 if the
// room is full). Pending requests count as taken seats, so that concurrent players spread over rooms. A silent
// worker is suspect until its next sign of life: its rooms are not proposed. A holder of the lock asks it
// anyway, with a shorter timeout.
//
// All requests to workers are idempotent, so after a dead connection the master repeats
// a request at the same worker. It never repeats an order with an unknown outcome at
// another worker. A seat request without an answer may leave an empty seat taken.
//
// # HTTP API
//
//	POST /v1/match {"player":"p","group":"g"}
//	     200 {"room":"w1-k3x9-12","worker":"w1","state":"open",...,"created":false}  the room
//	     503 {"error":{"kind":"timeout","message":"...","outcome":"failed"}}
//	GET  /v1/status  the holds of the lock, and the number of waiters
//
// outcome is "unknown" if a seat may be taken or a room ordered in spite of the error. An invalid request (400, 413)
// has no outcome and no effect. The kinds are those of locks.ErrorKind (timeout, unavailable, ...), capacity and
// stopping.
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
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// WorkerAddr is the address of a worker, as the master's host dials it: that of the link.
type WorkerAddr struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	Addr string `json:"addr"` // host:port
}

// Settings configures a master.
type Settings struct {
	Name    string       `json:"name"`
	Zone    string       `json:"zone"`
	Lock    string       `json:"lock"` // its name in traces and metrics; the lock itself is injected
	Workers []WorkerAddr `json:"workers"`
	// WorkerToken authorizes requests to the workers.
	WorkerToken string `json:"worker_token,omitzero"`
	// Hold is the least time for which the lock is held before a room is ordered.
	Hold time.Duration `json:"hold,format:units"`
	// Patience is how long players wait, 0 for [history.Patience]; match requests time out earlier.
	Patience time.Duration `json:"patience,omitzero,format:units"`
	// Second is the topology's substitute for one second, which grows with its round trips; 0 is one second. The
	// timeouts of workers scale with it.
	Second time.Duration `json:"second,omitzero,format:units"`

	Limits `json:"-"`
}

// Limits follow from Patience and Second; only tests set others.
type Limits struct {
	// MatchTimeout bounds a match request, and AcquireTimeout its wait for the lock; the time of Hold is
	// added to both. They scale with Patience, all others with Second.
	MatchTimeout, AcquireTimeout time.Duration
	ReleaseTimeout               time.Duration // of a release, and of the canary's acquisitions
	// LookTimeout bounds a request for a worker's rooms under the lock, SuspectLookTimeout the same to a
	// suspect worker.
	LookTimeout, SuspectLookTimeout time.Duration
	SeatTimeout, OrderTimeout       time.Duration // of a request for a seat, and of an order
	// FeedSilence is the silence after which a worker is suspect, FeedReset that after which its feed is
	// dialed again.
	FeedSilence, FeedReset time.Duration
	ReadyTimeout           time.Duration // bounds the wait of Ready for feeds
}

// DefaultSettings returns all settings but names and addresses.
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

// ParseSettings reads JSON over the defaults, and scales the limits with Patience and Second.
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

// Deps are the dependencies of a master. All but Mounts are required.
type Deps struct {
	Recorder history.Recorder
	// Locker is the lock under test. The master does not close it.
	Locker *Tracker
	Log    *slog.Logger
	Seed   seed.Seed
	// Mounts are additional handlers, by pattern of http.ServeMux.
	Mounts map[string]http.Handler
}

// Master is one matchmaking server. As a collector it has the durations of matches.
type Master struct {
	*prometheus.HistogramVec
	Deps
	settings    Settings
	incarnation string

	remotes   []*remote
	directory *directory
	ids       atomic.Uint64

	open   sync.RWMutex // read-locked by each match, and permanently locked by Close
	closed sync.Once

	stop       context.CancelFunc // ends the feeds
	feeds      sync.WaitGroup     // and the canary
	background sync.WaitGroup     // acquisitions, watches and releases
}

// New starts to follow the workers, until ctx ends or the master is closed. Always call Close.
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

// Ready waits until the lock client is ready and every worker's feed has delivered a line. After
// ReadyTimeout feeds may be missing, because a master must be able to start while a zone is down.
func (m *Master) Ready(ctx context.Context) error {
	if err := m.Locker.Ready(ctx); err != nil {
		return fmt.Errorf("wait for the lock: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, m.settings.ReadyTimeout)
	defer cancel()
	for !m.directory.follows() && waiting.Err() == nil {
		_ = clock.Sleep(waiting, 5*time.Millisecond) // the loop checks waiting
	}
	if waiting.Err() != nil {
		m.Log.Warn("ready without all workers")
	}
	return ctx.Err()
}

// Close refuses new matches, waits for pending ones and for their releases, and ends the
// feeds. The Locker stays open.
func (m *Master) Close() {
	m.closed.Do(func() {
		m.open.Lock() // never unlocked
		m.stop()
		m.feeds.Wait()
		m.background.Wait()
		for _, r := range m.remotes {
			r.http.Close()
		}
	})
}

// Serve listens on addr (host:port), and calls ready with the bound address once the master is
// ready. It serves, and runs the canary, until ctx ends; then it closes the master and returns nil.
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
	} else if ctx.Err() == nil { // the lock client failed; ctx did not end
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

// Handler serves the API and the Mounts.
func (m *Master) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "master " + m.settings.Name})
	httpapi.Post(a, "POST /v1/match", m.handleMatch)
	a.Get("GET /v1/status", func(*http.Request) (any, error) { return m.Locker.Status(), nil })
	for pattern, handler := range m.Mounts {
		a.Mount(pattern, handler)
	}
	return a
}
