package multiphase

import (
	"context"
	"fmt"
	"time"

	"locklab/locks"
)

// claim is one call of Acquire: first a place in the resource's queue, then the
// lease. All but wake is guarded by the shard.
type claim struct {
	shard      *shard
	res        *resource // while in its queue
	prev, next *claim
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

var _ locks.Lease = (*claim)(nil)

// Token says that there is none.
func (c *claim) Token() (locks.Token, bool) { return 0, false }

// Expires says that there is no lease time.
func (c *claim) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the Locker is. That the peers are gone is no reason: see the
// package comment on partitions.
func (c *claim) Lost() <-chan struct{} { return c.shard.locker.lost }

// Release lets the next one in. It sends and does not wait, so ctx is not used.
func (c *claim) Release(context.Context) error {
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
