package peerlock

import (
	"time"

	"locklab/locks"
)

// Cohort lets one acquisition among the peers serve several local waiters in turn.
// The zero value lets each waiter make its own.
type Cohort struct {
	Size int           // at most so many
	Time time.Duration // the last of them begins within this time of the first
}

// cohort is who was served by the acquisition that holds the resource now.
type cohort struct {
	served int
	since  time.Time
}

// passOn lets the next local waiter have what is held, or what is asked for, if the
// cohort may go on. It says whether it did.
func (s *shard[S, M, P]) passOn(r *resource[S, M, P]) bool {
	c := s.locker.protocol.Cohort
	switch {
	case c.Size == 0:
		return false
	case !r.held:
		return true
	case r.cohort.served >= c.Size || s.locker.clock.Now().Sub(r.cohort.since) >= c.Time:
		return false
	}
	r.cohort.served++
	r.grant()
	return true
}

// hold is told that the state machine has the lock.
func (s *shard[S, M, P]) hold(r *resource[S, M, P]) {
	r.held = true
	if s.locker.protocol.Cohort.Size > 0 {
		r.cohort = cohort{served: 1, since: s.locker.clock.Now()}
	}
	r.grant()
}

// grant hands the resource to the first waiter.
func (r *resource[S, M, P]) grant() {
	c := r.first
	c.phase = held
	if r.token != 0 {
		member := uint64(max(r.cohort.served-1, 0)) //nolint:gosec // at least 0
		c.term = &term{token: locks.Token(r.token<<tokenBits | member), lost: make(chan struct{})}
	}
	c.wake <- struct{}{}
}
