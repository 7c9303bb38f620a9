package program

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// releaseTime bounds a release whose caller sets no bound.
const releaseTime = 5 * time.Second

// lease is one grant of a program.
type lease struct {
	process *process
	call    *call
	token   uint64
	lost    chan struct{}

	mu     sync.Mutex
	until  time.Time // zero if it has no end
	timer  clock.Timer
	over   bool // lost or released
	once   sync.Once
	result error
}

var _ locks.Lease = (*lease)(nil)

// newLease is what the program has granted: until so long after it was asked.
func newLease(p *process, c *call, s Said) *lease {
	l := &lease{process: p, call: c, token: s.Token, lost: make(chan struct{})}
	if s.UntilMS > 0 {
		l.mu.Lock() // the timer may fire at once
		defer l.mu.Unlock()
		l.until = c.askedAt.Add(time.Duration(s.UntilMS) * time.Millisecond)
		l.timer = p.clock.AfterFunc(l.until.Sub(p.clock.Now()), l.expire)
	}
	return l
}

// extend moves the end, if it has not come yet.
func (l *lease) extend(untilMS int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !l.process.clock.Now().Before(l.until) {
		return
	}
	l.until = l.call.askedAt.Add(time.Duration(untilMS) * time.Millisecond)
	l.timer.Reset(l.until.Sub(l.process.clock.Now()))
}

// expire ends the lease, unless it was extended while the timer fired.
func (l *lease) expire() {
	l.mu.Lock()
	early := l.until.IsZero() || l.process.clock.Now().Before(l.until)
	l.mu.Unlock()
	if !early {
		l.lose()
	}
}

// isOver says that the lease has ended, and ends it if nobody has yet.
func (l *lease) isOver() bool {
	l.expire()
	return signals.Closed(l.lost)
}

// lose ends the lease.
func (l *lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	close(l.lost)
	if l.timer != nil {
		l.timer.Stop()
	}
}

// Token is the program's, if its lock has them.
func (l *lease) Token() (locks.Token, bool) { return locks.Token(l.token), l.token > 0 }

// Expires is what the program last said, counted from when it was asked.
func (l *lease) Expires() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, !l.until.IsZero()
}

// Lost is closed when the program says so, when it is dead, and when the lease is over.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release asks the program to give it back, also what was lost: there may be something left.
func (l *lease) Release(ctx context.Context) error {
	l.once.Do(func() {
		l.mu.Lock()
		lost := l.over
		l.over = true
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
		l.result = l.process.giveBack(ctx, l.call)
		if lost && l.process.alive() {
			l.result = fmt.Errorf("release: it was lost before: %w", locks.ErrNotHeld)
		}
	})
	return l.result
}

func (p *process) alive() bool {
	return !signals.Closed(p.dead)
}

// giveBack releases what a call was granted and waits for the answer.
func (p *process) giveBack(ctx context.Context, c *call) error {
	limit := releaseTime
	if end, has := ctx.Deadline(); has {
		limit = max(end.Sub(p.clock.Now()), time.Millisecond)
	}
	if err := p.release(c, limit); err != nil {
		return fmt.Errorf("release: %w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	}
	patience := p.clock.NewTimer(limit)
	defer patience.Stop()
	select {
	case s := <-c.released:
		return s.err("release", locks.ErrNotHeld)
	case <-p.dead:
		if s, has := lastWord(c.released); has {
			return s.err("release", locks.ErrNotHeld)
		}
		return fmt.Errorf("release: %w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, p.reason())
	case <-patience.C():
		return fmt.Errorf("release: %w: no answer within %v", locks.ErrUnknown, limit)
	case <-ctx.Done():
		return fmt.Errorf("release: %w: %w", locks.ErrUnknown, ctx.Err())
	}
}

// err is the outcome of an answer as an error; failed is what it is if it failed.
func (s Said) err(what string, failed error) error {
	switch s.Outcome {
	case locks.OutcomeOK:
		return nil
	case locks.OutcomeFailed:
		return fmt.Errorf("%s: %w: %.200s", what, failed, s.Error)
	default:
		return fmt.Errorf("%s: %w: %.200s", what, locks.ErrUnknown, s.Error)
	}
}
