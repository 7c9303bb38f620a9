package peerlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/locks"
	"locklab/locks/peerlock/peercore"
)

// claim is one call of Acquire: first a place in the resource's queue, then the
// lease. The shard's mutex guards all fields but the channels.
type claim[S, M any, P peercore.Machine[S, M]] struct {
	shard *shard[S, M, P]
	res   *resource[S, M, P]
	phase claimPhase
	over  chan struct{} // of capacity 1; filled when the wait ends

	// Set once held, if the algorithm has leases:
	token locks.Token   // 0 if there is none
	lost  chan struct{} // closed when the lease expires or the locker is closed
	until time.Time     // when the lease ended; set when the hold ends
}

type claimPhase uint8

const (
	waiting claimPhase = iota
	held
	released
	lapsed   // the lease expired
	orphaned // the locker was closed
)

// tokenBits is the number of low bits of a [locks.Token] that distinguish the members of
// one cohort. The rest is the token of the algorithm.
const tokenBits = 10

// CohortMost is the largest cohort of an algorithm with leases.
const CohortMost = 1 << tokenBits

// Token returns false unless the algorithm has leases.
func (c *claim[S, M, P]) Token() (locks.Token, bool) { return c.token, c.token != 0 }

// Expires returns false unless the algorithm has leases.
func (c *claim[S, M, P]) Expires() (time.Time, bool) {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	switch {
	case c.token == 0:
		return time.Time{}, false
	case c.phase == held:
		return c.res.until, true
	}
	return c.until, true
}

// Lost is closed when the lease expires. Without leases only closing the Locker closes it,
// not the loss of peers.
func (c *claim[S, M, P]) Lost() <-chan struct{} {
	if c.lost == nil {
		return c.shard.locker.lost
	}
	return c.lost
}

// Release lets the next claim proceed. It sends without waiting, so ctx is not used.
func (c *claim[S, M, P]) Release(context.Context) error {
	s := c.shard
	s.mu.Lock()
	if c.phase == held {
		s.expireLate(c.res)
	}
	phase := c.phase
	if phase == held {
		c.end(released)
		s.pop(c)
	}
	s.mu.Unlock()
	s.locker.mesh.FlushTogether()
	switch phase {
	case lapsed:
		return fmt.Errorf("release: %w: the lease ended before", locks.ErrNotHeld)
	case orphaned:
		return fmt.Errorf("release: %w: %w", locks.ErrNotHeld, locks.ErrClosed)
	default: // also a second call
		return nil
	}
}

// end ends the hold, and keeps the end of its lease for Expires.
func (c *claim[S, M, P]) end(phase claimPhase) {
	c.phase, c.until = phase, c.res.until
}

// claim adds a claim to the queue of the resource, and requests the lock if the queue was empty.
func (s *shard[S, M, P]) claim(name string) *claim[S, M, P] {
	c := &claim[S, M, P]{shard: s, over: s.locker.wakes.Get().(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.over <- struct{}{}
		return c
	}
	r := s.resources[name]
	if r == nil {
		r = s.add(name)
	}
	c.res, r.claims = r, append(r.claims, c)
	if len(r.claims) == 1 {
		s.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	return c
}

// giveUp removes a waiting claim; false if its wait was over already.
func (s *shard[S, M, P]) giveUp(c *claim[S, M, P]) bool {
	s.mu.Lock()
	waits := c.phase == waiting && !s.closed
	if waits {
		c.phase = released
		s.pop(c)
	}
	s.mu.Unlock()
	s.locker.mesh.FlushTogether()
	return waits
}

// pop removes c from its queue. If c was first, the next claim's turn begins: with a new
// request, or in a cohort without one.
func (s *shard[S, M, P]) pop(c *claim[S, M, P]) {
	r := c.res
	first := r.claims[0] == c
	r.drop(c)
	if !first || (len(r.claims) > 0 && s.passOn(r)) {
		return
	}
	r.held, r.untold = false, 0
	s.step(r, peercore.Event[M]{Kind: peercore.Leave})
	s.again(r)
}

func (r *resource[S, M, P]) drop(c *claim[S, M, P]) {
	at := slices.Index(r.claims, c)
	r.claims = slices.Delete(r.claims, at, at+1)
}

// again requests the lock for the next claim, if there is one.
func (s *shard[S, M, P]) again(r *resource[S, M, P]) {
	if len(r.claims) > 0 {
		s.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	s.tidy(r)
}

// passOn gives the hold, or the request under way, to the next local waiter, if the cohort
// allows it. It reports whether it did.
func (s *shard[S, M, P]) passOn(r *resource[S, M, P]) bool {
	c := s.locker.protocol.Cohort
	switch {
	case c.Size == 0:
		return false
	case !r.held:
		return true
	case r.served >= c.Size || s.locker.clock.Now().Sub(r.since) >= c.Time:
		return false
	}
	r.served++
	r.grant()
	return true
}

// hold starts a hold of the state machine's lock, and a cohort.
func (s *shard[S, M, P]) hold(r *resource[S, M, P]) {
	r.held, r.served = true, 1
	if s.locker.protocol.Cohort.Size > 0 {
		r.since = s.locker.clock.Now()
	}
	r.grant()
}

// grant hands the resource to the first waiter.
func (r *resource[S, M, P]) grant() {
	c := r.claims[0]
	c.phase = held
	if r.token != 0 {
		c.token = locks.Token(r.token<<tokenBits | uint64(r.served-1)) //nolint:gosec // at least 0
		c.lost = make(chan struct{})
	}
	c.over <- struct{}{}
}

// lose takes the resource from the first claim, whose lease has expired.
func (s *shard[S, M, P]) lose(r *resource[S, M, P]) {
	switch {
	case len(r.claims) > 0 && r.untold != 0: // it was not told that it holds, so it still waits
		r.untold = 0
	case len(r.claims) > 0 && r.held:
		c := r.claims[0]
		c.end(lapsed)
		close(c.lost)
		r.held = false
		r.drop(c)
	default:
		return
	}
	s.again(r)
}

// orphan ends all claims and timers of a resource of a closed shard.
func (s *shard[S, M, P]) orphan(r *resource[S, M, P]) {
	s.stopAll(r)
	for _, c := range r.claims {
		switch {
		case c.phase == waiting:
			c.over <- struct{}{}
		case c.lost != nil:
			close(c.lost)
		}
		c.phase = orphaned
	}
}
