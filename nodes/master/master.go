package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"locklab/internal/httpapi"
	"locklab/internal/seed"
	"locklab/internal/tracing"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Deps is what a master is run with. All but the Mounts and the Tracer is needed.
type Deps struct {
	Recorder history.Recorder
	// Locker is the lock under test. The master does not close it.
	Locker *Tracker
	Log    *slog.Logger
	Seed   seed.Seed
	// Tracer takes part in the traces of players; nil does not.
	Tracer *tracing.Tracer
	// Mounts are handlers beside the master's own, by pattern of http.ServeMux.
	Mounts map[string]http.Handler
}

// Master is one matchmaking server.
type Master struct {
	settings    Settings
	incarnation string
	log         *slog.Logger
	recorder    history.Recorder
	locker      *Tracker
	mounts      map[string]http.Handler
	metrics     matchMetrics
	tracer      *tracing.Tracer

	remotes   []*remote
	directory *directory
	matches   atomic.Int64
	ids       atomic.Uint64

	closing struct {
		sync.Mutex
		yes bool
	}
	serving sync.WaitGroup // matches

	randMu sync.Mutex
	rand   *rand.Rand

	stop       context.CancelFunc // ends the feeds
	feeds      sync.WaitGroup     // and the canary
	background sync.WaitGroup     // acquisitions, watches and releases
	followed   chan struct{}      // closed when every feed has been heard of
}

// New checks the settings and starts to follow the workers, until ctx ends or the
// master is closed. Call Close in any case.
func New(ctx context.Context, settings Settings, deps Deps) (*Master, error) {
	if err := settings.validate(); err != nil {
		return nil, err
	}
	m := &Master{
		settings:    settings,
		incarnation: strconv.FormatUint(uint64(clock.Mono()), 36),
		log:         deps.Log,
		recorder:    deps.Recorder,
		locker:      deps.Locker,
		mounts:      deps.Mounts,
		metrics:     newMatchMetrics(),
		tracer:      deps.Tracer,
		rand:        deps.Seed.Child("master " + settings.Name).Rand(),
		followed:    make(chan struct{}),
	}
	for _, addr := range settings.Workers {
		m.remotes = append(m.remotes, newRemote(addr, settings.WorkerToken, deps.Tracer))
	}
	m.directory = newDirectory(settings.FeedSilence, m.remotes)
	m.followAll(ctx)
	return m, nil
}

func (m *Master) followAll(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	m.stop = stop
	var missing atomic.Int64
	missing.Store(int64(len(m.remotes)))
	for _, r := range m.remotes {
		first := sync.OnceFunc(func() {
			if missing.Add(-1) == 0 {
				close(m.followed)
			}
		})
		m.feeds.Go(func() { m.follow(ctx, r, first) })
	}
}

// Ready waits until the lock client is ready and every worker's feed has been
// heard of. Feeds may be missing after ReadyTimeout: a master must be able to start
// while a zone is away.
func (m *Master) Ready(ctx context.Context) error {
	if err := m.locker.Ready(ctx); err != nil {
		return fmt.Errorf("wait for the lock: %w", err)
	}
	timeout := clock.System().NewTimer(m.settings.ReadyTimeout)
	defer timeout.Stop()
	select {
	case <-m.followed:
	case <-timeout.C():
		m.log.Warn("ready without all workers", slog.Any("workers", m.Status().Workers))
	case <-ctx.Done():
		return fmt.Errorf("wait for the workers: %w", ctx.Err())
	}
	return nil
}

// begin counts a match as under way, until finish.
func (m *Master) begin() error {
	m.closing.Lock()
	defer m.closing.Unlock()
	if m.closing.yes {
		return errStopping
	}
	m.matches.Add(1)
	m.serving.Add(1)
	return nil
}

func (m *Master) finish() {
	m.matches.Add(-1)
	m.serving.Done()
}

// Close refuses new matches, waits for those under way and for the release of what
// they held, and ends the feeds. The Locker stays open.
func (m *Master) Close() {
	m.closing.Lock()
	m.closing.yes = true
	m.closing.Unlock()
	m.serving.Wait()
	m.stop()
	m.feeds.Wait()
	m.background.Wait()
	for _, r := range m.remotes {
		r.http.Close()
	}
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
	go func() { served <- httpapi.Serve(ctx, listener, m.Handler(), m.stop, m.log) }()
	if err := m.Ready(ctx); err == nil {
		m.feeds.Go(func() { m.canary(ctx) })
		ready(listener.Addr())
	} else if ctx.Err() == nil { // the lock is at fault, not the caller's leaving
		cancel()
		return errors.Join(err, <-served)
	}
	return <-served
}

// shuffle draws an order from the master's seed.
func (m *Master) shuffle(n int, swap func(i, j int)) {
	m.randMu.Lock()
	defer m.randMu.Unlock()
	m.rand.Shuffle(n, swap)
}
