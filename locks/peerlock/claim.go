package peerlock

import (
	"context"
	"fmt"
	"time"

	"locklab/locks"
	"locklab/locks/peerlock/peercore"
)

// claim is one call of Acquire: first a place in the resource's queue, then the
// lease. All but wake is guarded by the shard.
type claim[S, M any, P peercore.Machine[S, M]] struct {
	shard      *shard[S, M, P]
	res        *resource[S, M, P] // while in its queue
	prev, next *claim[S, M, P]
	phase      claimPhase
	wake       chan struct{} // of one place; filled when the wait is over; nil when used up
	term       *term         // nil if the algorithm has no leases, or it was never held
}

type claimPhase uint8

const (
	waiting claimPhase = iota
	held
	released
	lapsed   // the lease ended
	orphaned // the locker was closed
)

// term is what a lease is worth and how long.
type term struct {
	token locks.Token
	lost  chan struct{} // closed when the lease is over or the locker closed
	until time.Time     // when the lease ended; only set once it is not held any more
}

// Token says that there is none, unless the algorithm has leases.
func (c *claim[S, M, P]) Token() (locks.Token, bool) {
	if c.term == nil {
		return 0, false
	}
	return c.term.token, true
}

// Expires says that there is no lease time, unless the algorithm has leases.
func (c *claim[S, M, P]) Expires() (time.Time, bool) {
	if c.term == nil {
		return time.Time{}, false
	}
	s := c.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.phase == held {
		return c.res.times.until, true
	}
	return c.term.until, true
}

// Lost is closed when the lease is over, or, if the algorithm has none, when the
// Locker is closed: that peers are gone is no reason then.
func (c *claim[S, M, P]) Lost() <-chan struct{} {
	if c.term == nil {
		return c.shard.locker.lost
	}
	return c.term.lost
}

// end notes that the resource is not held any more, and until when the lease was.
func (c *claim[S, M, P]) end(phase claimPhase) {
	c.phase = phase
	if c.term != nil {
		c.term.until = c.res.times.until
	}
}

// Release lets the next one in. It sends and does not wait, so ctx is not used.
func (c *claim[S, M, P]) Release(context.Context) error {
	s := c.shard
	s.mu.Lock()
	switch c.phase {
	case held:
		if s.expireLate(c.res); c.phase == lapsed {
			break
		}
		c.end(released)
		s.pop(c)
		s.keepWake(c)
	case lapsed:
	case orphaned:
		s.mu.Unlock()
		return fmt.Errorf("release: %w: %w", locks.ErrNotHeld, locks.ErrClosed)
	case released, waiting: // a second call; waiting cannot be: nobody has the lease yet
		s.mu.Unlock()
		return nil
	}
	late := c.phase == lapsed
	s.mu.Unlock()
	s.locker.flush()
	if late {
		return fmt.Errorf("release: %w: the lease ended before", locks.ErrNotHeld)
	}
	return nil
}
