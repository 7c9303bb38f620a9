package raftlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/locks"
)

// lease is one grant.
type lease struct {
	locker *Locker
	claim  *claim
	token  locks.Token
	lost   chan struct{}
	gone   bool // lost is closed; guarded by the Locker's mutex

	once     sync.Once
	released chan struct{}
	err      error // of Release, once released is closed
}

var _ locks.Lease = (*lease)(nil)

func newLease(l *Locker, c *claim) *lease {
	return &lease{
		locker: l, claim: c, token: locks.Token(c.token),
		lost: make(chan struct{}), released: make(chan struct{}),
	}
}

// lose must be called with the Locker's mutex held.
func (l *lease) lose() {
	if !l.gone {
		l.gone = true
		close(l.lost)
	}
}

// Token implements [locks.Lease]: the index of the log entry that granted.
func (l *lease) Token() (locks.Token, bool) { return l.token, true }

// Expires implements [locks.Lease]: the moment at which Lost is closed if the
// session is not renewed before.
func (l *lease) Expires() (time.Time, bool) {
	l.locker.mu.Lock()
	defer l.locker.mu.Unlock()
	s := l.locker.session
	if l.gone {
		return l.locker.clock.Now(), true
	}
	return s.until.Add(-s.margin()), true
}

// Lost implements [locks.Lease].
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release implements [locks.Lease]. It returns when a quorum has committed the
// release. When ctx ends first, the release goes on in the background.
func (l *lease) Release(ctx context.Context) error {
	first := false
	l.once.Do(func() { first = true })
	if first {
		if l.err = l.release(ctx); l.err != nil {
			l.err = fmt.Errorf("release %s: %w", l.claim.resource, l.err)
		}
		close(l.released)
	}
	<-l.released
	return l.err
}

func (l *lease) release(ctx context.Context) error {
	k := l.locker
	k.mu.Lock()
	if l.gone {
		k.mu.Unlock()
		return locks.ErrNotHeld
	}
	r := k.session.release(l.claim.seq)
	k.kick()
	k.mu.Unlock()
	select {
	case <-r.answered:
		return outcomeError(r.outcome)
	case <-k.closed:
	case <-ctx.Done():
	}
	select {
	case <-r.answered:
		return outcomeError(r.outcome)
	default:
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnknown, err)
	}
	return fmt.Errorf("%w: %w", locks.ErrUnknown, locks.ErrClosed)
}
