// Package program makes a lock of a program: a client in any language that speaks lines
// of JSON on its standard input and output. README.md beside this file is the protocol.
//
//	lock, err := program.New(program.Config{Command: program.Command{Args: []string{"./client"}}, ...})
//	lease, err := lock.Acquire(ctx, "group-7")
//
// One program is one client of the lock service, and what it does harms no other: one
// that ends, hangs, or says what the protocol does not allow is killed and started anew,
// what it held counts as lost at once, and what it was asked for as unknown.
//
// The lab counts a lease from the moment at which it sent the request, which is never
// later than the moment at which the program read it: so no clocks need to be compared,
// and however long either process stands still, a holder believes for too short a time
// rather than for too long a one.
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
	// slack is what a program gets beyond the caller's deadline: a caller that gives up says so, and
	// the program's own deadline is for the case that this is not heard.
	slack = 100 * time.Millisecond
	// grace is how long a caller that has given up waits to hear what became of it.
	grace = 250 * time.Millisecond
	// acquireTime is the deadline for a caller that sets none.
	acquireTime = 24 * time.Hour
	// releaseTime bounds a release whose caller sets no bound.
	releaseTime = 5 * time.Second
)

// Config is what a Locker is made of. Only Command is required.
type Config struct {
	Command Command
	Client  string   // a name that no other client of the same lock has
	Servers []Server // what it may dial
	Clock   clock.Clock
	Log     *slog.Logger
	Stderr  io.Writer // of the program; nil is nowhere
}

// Locker is one client of the lock: a program that runs, and is started again if it ends.
type Locker struct {
	cfg     Config
	closing context.Context //nolint:containedctx // ends with Close
	close   context.CancelFunc
	keeping sync.WaitGroup

	mu      sync.Mutex
	current *process      // nil while none can be used
	failed  error         // of the last start
	changed chan struct{} // closed when one of both changes
}

var _ locks.Locker = (*Locker)(nil)

// New makes a client, and starts its program in the background. The error wraps
// locks.ErrInvalid.
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

// Describe starts a program only to hear what its lock is, and ends it. Its error says
// what is wrong with it: a program that does not end may have said hello all the same.
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

// Ready waits until the program runs, so that the first acquisition need not. That it
// does not start is no error here: it is every acquisition's.
func (l *Locker) Ready(ctx context.Context) error {
	if _, err := l.process(ctx); err != nil {
		l.cfg.Log.Warn("lock program is not ready", "error", err)
	}
	return nil
}

// process is the program that runs.
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

// keep has a program run until the Locker is closed: one that is dead is started again, not too soon.
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

// Acquire blocks until the resource is held, the program says that it cannot be, or ctx is
// done.
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
	defer context.AfterFunc(l.closing, cancel)() //nolint:contextcheck // the Locker's end ends the wait too
	s, err := p.answer(ctx, c.acquired, limit+grace)
	switch {
	case err != nil && l.closing.Err() != nil:
		return nil, p.giveUp(context.WithoutCancel(ctx), c, locks.ErrClosed)
	case err != nil:
		return nil, p.giveUp(context.WithoutCancel(ctx), c, err)
	case s.Outcome != locks.OutcomeOK:
		return nil, s.err("the program says", locks.ErrNotAcquired)
	}
	// As after a pause of this process. Where the program has died since, the lease is lost instead.
	if until, ends := c.lease.Expires(); ends && !l.cfg.Clock.Now().Before(until) {
		_ = p.release(c, releaseTime) // its answer is not waited for
		return nil, fmt.Errorf("%w: it was granted too late", locks.ErrNotAcquired)
	}
	return c.lease, nil
}

// giveUp tells the program that an acquisition is not waited for any more, and says what became of it.
func (p *process) giveUp(ctx context.Context, c *call, why error) error {
	outcome := locks.ErrUnknown
	if p.release(c, releaseTime) == nil {
		s, _ := p.answer(ctx, c.acquired, grace)
		if s.Outcome == locks.OutcomeOK { // it came too late: is it given back?
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

// Close gives back everything, ends the program's input, and returns when it has ended.
func (l *Locker) Close() error {
	l.close()
	l.keeping.Wait()
	return nil
}

// lease is one grant of a program. Its end is what the program last said, counted from when it was
// asked; it is lost when the program says so, and when the program is dead, too.
type lease struct {
	*call
	*locks.Term
	token   uint64
	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

// newLease is what the program has granted.
func newLease(p *process, c *call, s Said) *lease {
	var until time.Time
	if s.UntilMS > 0 {
		until = c.until(s)
	}
	return &lease{call: c, Term: locks.NewTerm(p.clock, until), token: s.Token}
}

// until is the end of a lease.
func (c *call) until(s Said) time.Time {
	return c.askedAt.Add(time.Duration(s.UntilMS) * time.Millisecond)
}

// Token is the program's, if its lock has them.
func (l *lease) Token() (locks.Token, bool) { return locks.Token(l.token), l.token > 0 }

// Release asks the program to give it back, also what was lost: there may be something left.
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
