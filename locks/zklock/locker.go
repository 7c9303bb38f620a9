package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"locklab/locks"
	"locklab/locks/clock"
)

// Config is what a client needs.
type Config struct {
	Addrs   []string // of all servers, as this client dials them
	Options Options
	Clock   clock.Clock // nil is the system's
}

// Locker is one client of a ZooKeeper ensemble. Its callers share a session.
type Locker struct {
	addrs   []string
	options Options
	clock   clock.Clock
	running sync.WaitGroup
	closing chan struct{}
	claims  atomic.Uint64 // so far, which makes their names
	sent    atomic.Uint64 // messages
	woken   atomic.Uint64

	mu      sync.Mutex
	closed  bool
	current *session // nil if there is none
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
	_ locks.WakeupCounter  = (*Locker)(nil)
)

// New returns a client. It dials when a lock is asked for.
func New(cfg Config) (*Locker, error) {
	if err := cfg.Options.validate(); err != nil {
		return nil, err
	}
	if len(cfg.Addrs) == 0 {
		return nil, fmt.Errorf("zookeeper: no addresses: want those of the ensemble's servers: %w", locks.ErrInvalid)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	return &Locker{addrs: cfg.Addrs, options: cfg.Options, clock: cfg.Clock, closing: make(chan struct{})}, nil
}

// Acquire implements [locks.Locker].
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	var left error // of a claim that may be there until its session is over
	for {
		le, err := l.claim(ctx, resource)
		if err == nil {
			return le, nil
		}
		if errors.Is(err, locks.ErrUnknown) {
			left = err
		}
		switch {
		case l.isClosed():
			err = errors.Join(err, locks.ErrClosed)
		case ctx.Err() == nil && clock.Sleep(ctx, l.options.Timeout/10) == nil:
			continue // its session was over: with another one
		}
		if left != nil && !errors.Is(err, locks.ErrUnknown) {
			err = fmt.Errorf("%w: %w", left, err)
		}
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", err, ctx.Err())
		}
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
}

// claim asks once, with one session.
func (l *Locker) claim(ctx context.Context, resource string) (*lease, error) {
	s, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	le := newLease(l, s, resource)
	return le, le.acquire(ctx)
}

func (l *Locker) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// MessagesSent counts requests, their answers and what watches told.
func (l *Locker) MessagesSent() uint64 { return l.sent.Load() }

// Wakeups is how often a waiter was woken so far.
func (l *Locker) Wakeups() uint64 { return l.woken.Load() }

// begin runs something that Close waits for, unless it is closed.
func (l *Locker) begin(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.running.Go(f)
	return true
}

// Close implements [locks.Locker]. What was held is free at once if a server can be reached,
// and otherwise when the session is over.
func (l *Locker) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	s := l.current
	l.mu.Unlock()
	if s != nil {
		l.lose(s)
	}
	l.running.Wait()
	return nil
}
