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

	"locklab/locks"
	"locklab/locks/clock"
)

const (
	// restartTime is the least time between two starts of a program.
	restartTime = 500 * time.Millisecond
	// slack is what a program gets beyond the caller's deadline: who gives up says so, and
	// the program's own deadline is for the case that this is not heard.
	slack = 100 * time.Millisecond
	// grace is how long a caller who has given up waits to hear what became of it.
	grace = 250 * time.Millisecond
	// acquireTime bounds one request for a caller who sets no bound; it is repeated.
	acquireTime = 30 * time.Second
)

// Config is what a Locker is made of. Only Command is required.
type Config struct {
	Command Command
	Client  string   // a name that no other client of the same lock has
	Servers []Server // what it may dial
	Want    *Hello   // what the lock said of itself before; one that says otherwise is refused
	Clock   clock.Clock
	Log     *slog.Logger
	Stderr  io.Writer // of the program; nil is nowhere
}

// Locker is one client of the lock: a program that runs, and is started again if it ends.
type Locker struct {
	cfg     Config
	closing context.Context //nolint:containedctx // ends with Close
	close   context.CancelFunc

	mu      sync.Mutex
	current *process
	next    time.Time // before which none is started again
	since   chan struct{}
	failed  error // of the last start
	stopped sync.WaitGroup
}

var _ locks.Locker = (*Locker)(nil)

// New makes a client. Its program is started when it is first needed, or by Ready. The
// error wraps locks.ErrInvalid.
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
	l := &Locker{cfg: cfg}
	l.closing, l.close = context.WithCancel(context.Background())
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

// Ready starts the program, so that the first acquisition need not wait for it. That it
// does not start is no error here: it is every acquisition's.
func (l *Locker) Ready(ctx context.Context) error {
	if _, err := l.process(ctx); err != nil {
		l.cfg.Log.Warn("lock program is not ready", "error", err)
	}
	return nil
}

// process is the program that runs. It is started if there is none, by one caller for all.
func (l *Locker) process(ctx context.Context) (*process, error) {
	for {
		l.mu.Lock()
		switch {
		case l.closing.Err() != nil:
			l.mu.Unlock()
			return nil, locks.ErrClosed
		case l.current != nil && l.current.alive():
			defer l.mu.Unlock()
			return l.current, nil
		case l.since == nil:
			l.begin()
		}
		started := l.since
		l.mu.Unlock()
		select {
		case <-started:
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			return nil, fmt.Errorf("wait for the program: %w: %w", ctx.Err(), cmp.Or(l.failed, errStarting))
		}
	}
}

var errStarting = errors.New("it has just been started")

// begin starts the program in the background, not too soon after the last time. The caller
// holds mu.
func (l *Locker) begin() {
	if l.current != nil {
		l.failed = l.current.reason()
		l.cfg.Log.Warn("lock program is dead and started again", "program", l.cfg.Command.String(), "error", l.failed)
	}
	done := make(chan struct{})
	l.since = done
	wait := l.next.Sub(l.cfg.Clock.Now())
	l.stopped.Go(func() {
		p, err := l.startAfter(wait)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.next = l.cfg.Clock.Now().Add(restartTime)
		l.since = nil
		if l.current = p; err != nil {
			l.failed = err
			l.cfg.Log.Warn("lock program cannot be used", "error", err)
		}
		close(done)
	})
}

func (l *Locker) startAfter(wait time.Duration) (*process, error) {
	if _, closing := clock.Await(l.cfg.Clock, max(wait, 0), l.closing.Done()); closing {
		return nil, locks.ErrClosed
	}
	p, err := start(l.closing, l.cfg.Command, Ask{Client: l.cfg.Client, Servers: l.cfg.Servers}, l.cfg.Stderr, l.cfg.Clock)
	if err != nil {
		return nil, err
	}
	if w := l.cfg.Want; w != nil && (w.Tokens != p.hello.Tokens || w.Lease != p.hello.Lease) {
		p.fail(broken("hello says tokens: %t, lease %v, and when it was asked first it said tokens: %t, lease %v", p.hello.Tokens, p.hello.Lease, w.Tokens, w.Lease))
		<-p.gone
		return nil, p.reason()
	}
	return p, nil
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
	for {
		lease, again, err := l.try(ctx, resource)
		if err == nil {
			return lease, nil
		}
		if !again {
			return nil, fmt.Errorf("acquire %q: %w", resource, err)
		}
	}
}

// try asks once. It says whether to ask again: the program gave up, and the caller does not.
func (l *Locker) try(ctx context.Context, resource string) (_ locks.Lease, again bool, _ error) {
	p, err := l.process(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable, err)
	}
	limit := acquireTime
	end, bounded := ctx.Deadline()
	if bounded {
		limit = max(end.Sub(l.cfg.Clock.Now()), 0) + slack
	}
	c, err := p.acquire(resource, limit)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	}
	patience := l.cfg.Clock.NewTimer(limit + grace)
	defer patience.Stop()
	answered := func(s Said) (locks.Lease, bool, error) {
		if s.Outcome == locks.OutcomeOK && c.lease.isOver() { // as after a pause of this process
			_ = p.release(c, releaseTime) // nobody waits for what it says
			return nil, false, fmt.Errorf("%w: it was granted too late", locks.ErrNotAcquired)
		}
		if s.Outcome == locks.OutcomeOK {
			return c.lease, false, nil
		}
		late := !bounded && l.cfg.Clock.Now().Sub(c.askedAt) >= limit
		return nil, late && s.Outcome == locks.OutcomeFailed, s.err("the program says", locks.ErrNotAcquired)
	}
	select {
	case s := <-c.acquired:
		return answered(s)
	case <-p.dead:
		if s, has := lastWord(c.acquired); has {
			return answered(s)
		}
		why := fmt.Errorf("%w: %w", locks.ErrUnavailable, p.reason())
		if l.closing.Err() != nil {
			why = locks.ErrClosed
		}
		return nil, false, fmt.Errorf("%w: %w", locks.ErrUnknown, why)
	case <-patience.C():
		_ = p.release(c, releaseTime) // nobody waits for what it says
		return nil, false, fmt.Errorf("%w: no answer within %v", locks.ErrUnknown, limit+grace)
	case <-ctx.Done():
		return nil, false, p.giveUp(c, ctx.Err())
	case <-l.closing.Done():
		return nil, false, p.giveUp(c, locks.ErrClosed)
	}
}

// lastWord is the answer of a program that is dead, if it gave one before: none comes later.
func lastWord(c <-chan Said) (s Said, has bool) {
	select {
	case s = <-c:
		return s, true
	default:
		return s, false
	}
}

// giveUp tells the program that nobody waits any more, and says what became of the wait.
func (p *process) giveUp(c *call, why error) error {
	outcome := locks.ErrUnknown
	if p.release(c, releaseTime) == nil {
		patience := p.clock.NewTimer(grace)
		defer patience.Stop()
		select {
		case s := <-c.acquired:
			if s.Outcome == locks.OutcomeFailed {
				outcome = locks.ErrNotAcquired
			}
			if s.Outcome != locks.OutcomeOK {
				break
			}
			select { // it came too late: is it given back?
			case s := <-c.released:
				if s.Outcome != locks.OutcomeUnknown {
					outcome = locks.ErrNotAcquired
				}
			case <-p.dead:
			case <-patience.C():
			}
		case <-p.dead:
		case <-patience.C():
		}
	}
	return fmt.Errorf("%w: %w", outcome, why)
}

// Close gives back everything, ends the program's input, and returns when it has ended.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.close()
	l.mu.Unlock()
	l.stopped.Wait()
	l.mu.Lock()
	p := l.current
	l.current = nil
	l.mu.Unlock()
	if p != nil {
		p.quit()
	}
	return nil
}

// quit has everything given back that is held or asked for, and ends the program.
func (p *process) quit() {
	p.mu.Lock()
	var left []*call
	for _, c := range p.calls {
		if !c.releasing {
			left = append(left, c)
		}
		if c.lease != nil {
			c.lease.lose()
		}
	}
	p.mu.Unlock()
	for _, c := range left {
		if p.release(c, EndTime) != nil {
			break
		}
	}
	p.end(EndTime)
}
