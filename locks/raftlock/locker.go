package raftlock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// Locker is one client of the service, with one session at a time.
type Locker struct {
	options  Options
	client   string
	clock    clock.Clock
	log      *slog.Logger
	messages atomic.Uint64

	mu      sync.Mutex
	session *session
	stream  *stream // nil while the client looks for the leader
	closing bool
	ended   chan struct{} // closed when the service has ended the session as asked
	closed  chan struct{} // closed when Close is done with waiting

	cancel  context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
	nodes   *dialer
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
)

// New starts a client. It looks for the leader in the background; until it has
// found one, acquisitions wait.
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Locker{
		options: cfg.Options, client: cfg.Client, clock: cfg.Clock, log: cfg.Log,
		session: newSession(), ended: make(chan struct{}), closed: make(chan struct{}),
		cancel: cancel, nodes: newDialer(cfg.Servers, cfg.Seed.Child("raftlock "+cfg.Client)),
	}
	l.running.Go(func() { l.connect(ctx) })
	l.running.Go(func() { l.maintain(ctx) })
	return l, nil
}

// MessagesSent counts the requests sent and the answers received, repeats
// included and renewals not.
func (l *Locker) MessagesSent() uint64 { return l.messages.Load() }

// Acquire implements [locks.Locker].
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	c := &claim{locker: l, resource: resource, decided: make(chan struct{}), lost: make(chan struct{})}
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil, fmt.Errorf("acquire %s: %w", resource, locks.ErrClosed)
	}
	l.session.acquire(c)
	l.wakeSender()
	l.mu.Unlock()
	select {
	case <-c.decided:
	case <-ctx.Done():
		l.abandon(c)
	}
	if c.held {
		return c, nil
	}
	err := fmt.Errorf("acquire %s: %w", resource, c.err)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return nil, err
}

// abandon gives a claim up because its caller has gone. When it returns, the claim
// is decided.
func (l *Locker) abandon(c *claim) {
	l.mu.Lock()
	if c.isDecided() {
		l.mu.Unlock()
		return
	}
	c.abandoned = true
	if l.session.forgetUnsent(c) {
		c.fail(fmt.Errorf("%w: the service was not reached: %w", locks.ErrNotAcquired, locks.ErrUnavailable))
		l.mu.Unlock()
		return
	}
	r := l.session.release(c.seq)
	l.wakeSender()
	l.mu.Unlock()

	timer := l.clock.NewTimer(cancelWait)
	defer timer.Stop()
	select {
	case <-r.answered:
	case <-c.decided: // by Close
		return
	case <-timer.C():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.isDecided():
	case r.outcome == "":
		c.fail(fmt.Errorf("%w: the service has not confirmed in %s that the wait was cancelled: %w", locks.ErrUnknown, cancelWait, locks.ErrUnavailable))
	default:
		c.fail(locks.ErrNotAcquired)
	}
}

// cancelWait is how long an acquisition whose context has ended waits for the service to
// confirm that it was cancelled.
const cancelWait = 250 * time.Millisecond

// closeWait is how long Close waits for the service to confirm the session's end.
const closeWait = 300 * time.Millisecond

// Close implements [locks.Locker]. It ends the session at the service, so that
// everything that it held or waited for is free at once; if the service cannot be
// reached, that happens when the lease has run out.
func (l *Locker) Close() error {
	l.once.Do(l.close)
	return nil
}

func (l *Locker) close() {
	l.mu.Lock()
	l.closing = true
	confirmed := l.session.id == 0 && len(l.session.requests) == 0
	if !confirmed {
		l.wakeSender()
		l.mu.Unlock()
		_, confirmed = clock.Await(l.clock, closeWait, l.ended)
		l.mu.Lock()
	}
	why := fmt.Errorf("%w: %w", locks.ErrNotAcquired, locks.ErrClosed)
	if !confirmed {
		why = fmt.Errorf("%w: %w", locks.ErrUnknown, locks.ErrClosed)
	}
	l.session.abort(why, confirmed)
	l.mu.Unlock()

	close(l.closed)
	l.cancel()
	l.running.Wait()
}
