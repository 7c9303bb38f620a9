// Package program makes a lock of a program: a client in any language that exchanges lines
// of JSON on its standard input and output. README.md beside this file is the protocol.
//
//	lock, err := program.New(program.Config{Command: program.Command{Args: []string{"./client"}}, ...})
//	lease, err := lock.Acquire(ctx, "group-7")
//
// One program is one client of the lock service. If it ends, hangs or breaks the protocol, it is
// killed and started again: its leases are lost at once, and its pending requests are unknown.
//
// The lab counts a lease from when it sent the request, which is never later than when the program
// read it. So no clocks need to be compared. However long either process is paused, a holder may
// believe for too short a time that it holds, but never for too long.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

const (
	// restartTime is the least time between two starts of a program.
	restartTime = 500 * time.Millisecond
	// slack is the program's extra time after the caller's deadline: a caller that gives up sends a
	// release, and the program's own deadline matters only if that does not arrive.
	slack = 100 * time.Millisecond
	// grace is how long a caller that has given up waits for the outcome.
	grace = 250 * time.Millisecond
	// acquireTime is the deadline for a caller that sets none.
	acquireTime = 24 * time.Hour
	// releaseTime bounds a release whose caller sets no bound.
	releaseTime = 5 * time.Second
)

// Config configures a Locker. Only Command is required.
type Config struct {
	Command Command
	Client  string   // a name that no other client of the same lock has
	Servers []Server // that the program may dial
	Clock   clock.Clock
	Log     *slog.Logger
	Stderr  io.Writer // of the program; nil discards
}

// Locker is one client of the lock: a running program, which is started again if it ends.
type Locker struct {
	cfg     Config
	closing context.Context //nolint:containedctx // ends with Close
	close   context.CancelFunc
	keeping sync.WaitGroup

	mu      sync.Mutex
	current *process      // nil while no program is ready
	failed  error         // of the last start
	changed chan struct{} // closed when current or failed changes
}

var _ locks.Locker = (*Locker)(nil)

// New makes a client, and starts its program in the background. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) {
	if len(cfg.Command.Args) == 0 {
		return nil, fmt.Errorf("lock program: no command: %w", locks.ErrInvalid)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Locker{cfg: cfg, changed: make(chan struct{})}
	l.closing, l.close = context.WithCancel(context.Background())
	l.keeping.Go(l.keep)
	return l, nil
}

// Describe starts a program only for its hello, and ends it. If the program does not end, Describe
// returns its hello and an error.
func Describe(ctx context.Context, c Command, stderr io.Writer) (Hello, error) {
	p, err := start(ctx, c, Ask{Client: "describe"}, stderr, clock.System())
	if err != nil {
		return Hello{}, err
	}
	if !p.end(HelloTime) {
		return p.hello, fmt.Errorf("ask %s what it is: %w", c, p.reason())
	}
	return p.hello, nil
}

// Ready waits until the program runs. If it does not start, Ready logs that and returns nil; each
// acquisition returns the error.
func (l *Locker) Ready(ctx context.Context) error {
	if _, err := l.process(ctx); err != nil {
		l.cfg.Log.Warn("lock program is not ready", "error", err)
	}
	return nil
}

// process returns the running program, and waits for it.
func (l *Locker) process(ctx context.Context) (*process, error) {
	for {
		l.mu.Lock()
		p, failed, changed := l.current, l.failed, l.changed
		l.mu.Unlock()
		switch {
		case l.closing.Err() != nil:
			return nil, locks.ErrClosed
		case p != nil && !signals.Closed(p.dead):
			return p, nil
		}
		select {
		case <-changed:
		case <-l.closing.Done():
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the program: %w: %w", ctx.Err(), cmp.Or(failed, errStarting))
		}
	}
}

var errStarting = errors.New("it has just been started")

// keep restarts the program, at most once in restartTime, until the Locker is closed.
func (l *Locker) keep() {
	ask := Ask{Client: l.cfg.Client, Servers: l.cfg.Servers}
	for l.closing.Err() == nil {
		p, err := start(l.closing, l.cfg.Command, ask, l.cfg.Stderr, l.cfg.Clock)
		l.set(p, err)
		if err != nil {
			l.cfg.Log.Warn("lock program cannot be used", "error", err)
		} else {
			select {
			case <-p.gone:
				l.cfg.Log.Warn("lock program is dead and started again", "program", l.cfg.Command.String(), "error", p.reason())
				l.set(nil, p.reason())
			case <-l.closing.Done():
				p.quit()
			}
		}
		clock.Await(l.cfg.Clock, restartTime, l.closing.Done())
	}
}

func (l *Locker) set(p *process, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.failed = p, failed
	close(l.changed)
	l.changed = make(chan struct{})
}

// Acquire blocks until the program grants or refuses the resource, or ctx is done.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if l.closing.Err() != nil {
		return nil, fmt.Errorf("acquire %.255q: %w", resource, locks.ErrClosed)
	}
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	lease, err := l.ask(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	return lease, nil
}

func (l *Locker) ask(ctx context.Context, resource string) (*lease, error) {
	p, err := l.process(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable, err)
	}
	limit := acquireTime
	if end, bounded := ctx.Deadline(); bounded {
		limit = max(end.Sub(l.cfg.Clock.Now()), 0) + slack
	}
	c, err := p.acquire(resource, limit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.closing, cancel)() //nolint:contextcheck // Close ends the wait, too
	s, err := p.answer(ctx, c.acquired, limit+grace)
	switch {
	case err != nil && l.closing.Err() != nil:
		return nil, p.giveUp(context.WithoutCancel(ctx), c, locks.ErrClosed)
	case err != nil:
		return nil, p.giveUp(context.WithoutCancel(ctx), c, err)
	case s.Outcome != locks.OutcomeOK:
		return nil, s.err("the program says", locks.ErrNotAcquired)
	}
	// The lease may have ended while this process was paused.
	if until, ends := c.lease.Expires(); ends && !l.cfg.Clock.Now().Before(until) {
		_ = p.release(c, releaseTime) // does not wait for the answer
		return nil, fmt.Errorf("%w: it was granted too late", locks.ErrNotAcquired)
	}
	return c.lease, nil
}

// giveUp releases an acquisition whose caller waits no longer, and returns an error with its outcome.
func (p *process) giveUp(ctx context.Context, c *call, why error) error {
	outcome := locks.ErrUnknown
	if p.release(c, releaseTime) == nil {
		s, _ := p.answer(ctx, c.acquired, grace)
		if s.Outcome == locks.OutcomeOK { // granted too late: the release decides
			s, _ = p.answer(ctx, c.released, grace)
			if s.Outcome == locks.OutcomeOK {
				s.Outcome = locks.OutcomeFailed
			}
		}
		if s.Outcome == locks.OutcomeFailed {
			outcome = locks.ErrNotAcquired
		}
	}
	return fmt.Errorf("%w: %w", outcome, why)
}

// Close releases everything, closes the program's input, and returns when the program has ended.
func (l *Locker) Close() error {
	l.close()
	l.keeping.Wait()
	return nil
}

// lease is one grant of a program. It ends until_ms after the request was sent, or when the program
// reports it lost or is dead.
type lease struct {
	*call
	*locks.Term
	token   uint64
	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func newLease(p *process, c *call, s Said) *lease {
	var until time.Time
	if s.UntilMS > 0 {
		until = c.until(s)
	}
	return &lease{call: c, Term: locks.NewTerm(p.clock, until), token: s.Token}
}

func (c *call) until(s Said) time.Time {
	return c.askedAt.Add(time.Duration(s.UntilMS) * time.Millisecond)
}

// Token returns the program's token, if its lock has tokens.
func (l *lease) Token() (locks.Token, bool) { return locks.Token(l.token), l.token > 0 }

// Release asks the program to release, even a lost lease: the service may still have it.
func (l *lease) Release(ctx context.Context) error {
	return l.release.Do(l.resource, func() error {
		held := l.End()
		err := l.process.giveBack(ctx, l.call)
		if !held && !signals.Closed(l.process.dead) {
			return fmt.Errorf("it was lost before: %w", locks.ErrNotHeld)
		}
		return err
	})
}
