package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// Config configures a client.
type Config struct {
	Addrs   []string // of all servers, as this client dials them
	Options Options
}

// Locker is one client of a ZooKeeper ensemble. Its callers share a session.
type Locker struct {
	addrs   []string
	options Options
	calls   *locks.Calls
	id      string        // starts the names of its claims: the GUID of the recipe
	claims  atomic.Uint64 // numbers its claims, in their names
	sent    atomic.Uint64 // messages
	woken   atomic.Uint64

	mu      sync.Mutex
	current *session // nil if there is none
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
	_ locks.WakeupCounter  = (*Locker)(nil)
)

// New returns a client. It dials at the first Acquire.
func New(cfg Config) *Locker {
	return &Locker{addrs: cfg.Addrs, options: cfg.Options, calls: locks.NewCalls(), id: rand.Text()}
}

// Acquire implements [locks.Locker]. It retries, with a new session if the old one is over.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	return l.calls.Acquire(ctx, resource, func(ctx context.Context) (locks.Lease, error) {
		const pause = 100 * time.Millisecond
		outcome := locks.ErrNotAcquired
		for {
			s, err := l.enter(ctx)
			if err == nil {
				le := newLease(l, s, resource)
				if err = le.acquire(ctx); err == nil {
					return le, nil
				}
				if errors.Is(err, locks.ErrUnknown) {
					outcome = locks.ErrUnknown // for the rest of this call
				}
			}
			if clock.Sleep(ctx, pause) != nil {
				return nil, fmt.Errorf("%w: %w", outcome, err)
			}
		}
	})
}

// MessagesSent counts requests, answers and watch events.
func (l *Locker) MessagesSent() uint64 { return l.sent.Load() }

// Wakeups counts how often a watch woke a waiter.
func (l *Locker) Wakeups() uint64 { return l.woken.Load() }

// Close implements [locks.Locker]. Held resources are free at once if a server can be reached,
// and otherwise when the session ends.
func (l *Locker) Close() error {
	l.calls.Stop()
	l.calls.Wait()
	return nil
}

// session is one session at the servers.
type session struct {
	conn *zk.Conn
	open chan struct{} // closed when the servers have granted it
	lost chan struct{} // closed when it must be considered over

	mu    sync.Mutex
	doubt clock.Timer // runs while there is no connection; nil otherwise
	once  sync.Once
}

// enter waits until there is an open session.
func (l *Locker) enter(ctx context.Context) (*session, error) {
	s, err := l.join() //nolint:contextcheck // a session outlives the call that begins it
	if err != nil {
		return nil, err
	}
	select {
	case <-s.open:
		return s, nil
	case <-s.lost:
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("%w: no session", locks.ErrUnavailable)
}

// join returns the current session, or begins one.
func (l *Locker) join() (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		return l.current, nil
	}
	s := &session{open: make(chan struct{}), lost: make(chan struct{})}
	conn, _, err := zk.Connect(l.addrs, l.options.Session, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(e zk.Event) { s.hear(e.State, l.options.Session/6) }))
	if err != nil {
		return nil, fmt.Errorf("%w: connect: %w", locks.ErrUnavailable, err)
	}
	s.conn = conn
	begun := l.calls.Go(func() {
		select {
		case <-s.lost:
			l.mu.Lock()
			l.current = nil
			l.mu.Unlock()
			// The holder needs time to notice. Then the session can be closed only with a connection;
			// otherwise it blocks the others to its end.
			const parts = 20
			for range parts {
				if clock.Sleep(l.calls.Open(), l.options.Session/parts) != nil || conn.State() == zk.StateHasSession {
					break
				}
			}
		case <-l.calls.Open().Done():
			s.lose()
		}
		conn.Close()
	})
	if !begun {
		conn.Close()
		return nil, locks.ErrClosed
	}
	l.current = s
	return s, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// hear handles a change of the connection's state.
func (s *session) hear(state zk.State, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state == zk.StateExpired: // the library goes on with a new session
		s.lose()
	case state == zk.StateHasSession && !signals.Closed(s.open):
		close(s.open)
	case state == zk.StateDisconnected && s.doubt == nil && signals.Closed(s.open):
		s.doubt = clock.System().AfterFunc(patience, s.lose)
	case state == zk.StateHasSession && s.doubt != nil:
		s.doubt.Stop()
		s.doubt = nil
	}
}

// lose closes lost.
func (s *session) lose() { s.once.Do(func() { close(s.lost) }) }
