package raftlock

import (
	"context"
	"fmt"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/raftlock/wire"
)

// claim is one call of Acquire until its end at the service is known: first a wait, then
// the lease. The Locker's mutex guards what changes.
type claim struct {
	locker    *Locker
	seq       uint64 // 0 until its request is sent
	resource  string
	request   *request
	token     uint64 // 0 while it waits
	abandoned bool   // its caller has gone
	ending    bool   // a release is on its way

	decided chan struct{} // closed when held or err is set
	held    bool          // its caller has the lease
	err     error
	lost    chan struct{}

	release locks.ReleaseOnce
}

var _ locks.Lease = (*claim)(nil)

func (c *claim) isDecided() bool { return c.held || c.err != nil }

func (c *claim) fail(err error) {
	if !c.isDecided() {
		c.err = err
		close(c.decided)
	}
}

// hold gives the caller the lease.
func (c *claim) hold() {
	c.held = true
	close(c.decided)
}

// lose tells the caller, if it holds, that it does not any more.
func (c *claim) lose() {
	if c.held && !c.ending && !signals.Closed(c.lost) {
		close(c.lost)
	}
}

// Token implements [locks.Lease]: the index of the log entry that granted.
func (c *claim) Token() (locks.Token, bool) { return locks.Token(c.token), true }

// Expires implements [locks.Lease]: the moment at which Lost is closed if the
// session is not renewed before.
func (c *claim) Expires() (time.Time, bool) {
	l := c.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if signals.Closed(c.lost) {
		return l.clock.Now(), true
	}
	return l.session.end(), true
}

// Lost implements [locks.Lease].
func (c *claim) Lost() <-chan struct{} { return c.lost }

// Release implements [locks.Lease]. It returns when a quorum has committed the
// release, and at the latest when the lease is over. When ctx or the lease ends first,
// the release goes on in the background.
func (c *claim) Release(ctx context.Context) error {
	return c.release.Do(c.resource, func() error { return c.releaseOnce(ctx) })
}

func (c *claim) releaseOnce(ctx context.Context) error {
	l := c.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if signals.Closed(c.lost) {
		return locks.ErrNotHeld
	}
	over := l.clock.NewTimer(l.session.end().Sub(l.clock.Now()))
	defer over.Stop()
	r := l.session.release(c.seq)
	l.wakeSender()
	l.mu.Unlock()
	why := locks.ErrUnavailable
	select {
	case <-r.answered:
	case <-l.closed:
		why = locks.ErrClosed
	case <-ctx.Done():
		why = ctx.Err()
	case <-over.C():
	}
	l.mu.Lock()
	switch r.outcome {
	case wire.Released, wire.Withdrawn:
		return nil
	case wire.NotHeld:
		return locks.ErrNotHeld
	case "": // no answer
		return fmt.Errorf("%w: %w", locks.ErrUnknown, why)
	default:
		return fmt.Errorf("%w: the service answered %s", locks.ErrUnknown, r.outcome)
	}
}
