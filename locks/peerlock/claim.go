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
}

type claimPhase uint8

const (
	waiting claimPhase = iota
	held
	released
	orphaned // the locker was closed
)

// Token says that there is none.
func (c *claim[S, M, P]) Token() (locks.Token, bool) { return 0, false }

// Expires says that there is no lease time.
func (c *claim[S, M, P]) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the Locker is. That peers are gone is no reason.
func (c *claim[S, M, P]) Lost() <-chan struct{} { return c.shard.locker.lost }

// Release lets the next one in. It sends and does not wait, so ctx is not used.
func (c *claim[S, M, P]) Release(context.Context) error {
	s := c.shard
	s.mu.Lock()
	switch c.phase {
	case held:
		c.phase = released
		s.pop(c)
		s.keepWake(c)
	case orphaned:
		s.mu.Unlock()
		return fmt.Errorf("release: %w: %w", locks.ErrNotHeld, locks.ErrClosed)
	case released, waiting: // a second call; waiting cannot be: nobody has the lease yet
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	s.locker.flush()
	return nil
}
