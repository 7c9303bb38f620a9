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
// lease. All but its channels is guarded by the locker.
type claim[S, M any, P peercore.Machine[S, M]] struct {
	locker *Locker[S, M, P]
	res    *resource[S, M, P]
	phase  claimPhase
	over   chan struct{} // closed when the wait is over

	// Of algorithms with leases, once held:
	token locks.Token   // 0 if there is none
	lost  chan struct{} // closed when the lease is over or the locker closed
	until time.Time     // when the lease ended; only set once it is not held any more
}

type claimPhase uint8

const (
	waiting claimPhase = iota
	held
	released
	lapsed   // the lease ended
	orphaned // the locker was closed
)

// tokenBits is how many of the low bits of a [locks.Token] tell the members of one
// cohort apart. The rest is the token of the algorithm.
const tokenBits = 10

// CohortMost is the largest cohort of an algorithm with leases.
const CohortMost = 1 << tokenBits

// Token says that there is none, unless the algorithm has leases.
func (c *claim[S, M, P]) Token() (locks.Token, bool) { return c.token, c.token != 0 }

// Expires says that there is no lease time, unless the algorithm has leases.
func (c *claim[S, M, P]) Expires() (time.Time, bool) {
	c.locker.mu.Lock()
	defer c.locker.mu.Unlock()
	switch {
	case c.token == 0:
		return time.Time{}, false
	case c.phase == held:
		return c.res.until, true
	}
	return c.until, true
}

// Lost is closed when the lease is over, or, if the algorithm has none, when the
// Locker is closed: that peers are gone is no reason then.
func (c *claim[S, M, P]) Lost() <-chan struct{} {
	if c.lost == nil {
		return c.locker.lost
	}
	return c.lost
}

// Release lets the next one in. It sends and does not wait, so ctx is not used.
func (c *claim[S, M, P]) Release(context.Context) error {
	l := c.locker
	l.mu.Lock()
	if c.phase == held {
		l.expireLate(c.res)
	}
	phase := c.phase
	if phase == held {
		c.end(released)
		l.pop(c)
	}
	l.mu.Unlock()
	l.mesh.FlushTogether()
	switch phase {
	case lapsed:
		return fmt.Errorf("release: %w: the lease ended before", locks.ErrNotHeld)
	case orphaned:
		return fmt.Errorf("release: %w: %w", locks.ErrNotHeld, locks.ErrClosed)
	default: // or a second call
		return nil
	}
}

// end notes that the resource is not held any more, and until when the lease was.
func (c *claim[S, M, P]) end(phase claimPhase) {
	c.phase, c.until = phase, c.res.until
}

// claim puts a new one into the queue of the resource, and asks for the lock if it is alone
// there.
func (l *Locker[S, M, P]) claim(name string) *claim[S, M, P] {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &claim[S, M, P]{locker: l, over: make(chan struct{})}
	if l.closed {
		close(c.over)
		return c
	}
	r := l.resources[name]
	if r == nil {
		r = l.add(name)
	}
	c.res, r.claims = r, append(r.claims, c)
	if len(r.claims) == 1 {
		l.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	return c
}

// giveUp takes a waiting claim out; false if its wait was over already.
func (l *Locker[S, M, P]) giveUp(c *claim[S, M, P]) bool {
	l.mu.Lock()
	waits := c.phase == waiting && !l.closed
	if waits {
		c.phase = released
		l.pop(c)
	}
	l.mu.Unlock()
	l.mesh.FlushTogether()
	return waits
}

// pop takes c out of its queue. If the state machine worked for it, or c held the
// lock, that ends and the next one's turn begins: in a cohort without asking again.
func (l *Locker[S, M, P]) pop(c *claim[S, M, P]) {
	r := c.res
	first := r.claims[0] == c
	r.drop(c)
	if !first || (len(r.claims) > 0 && l.passOn(r)) {
		return
	}
	r.held, r.untold = false, 0
	l.step(r, peercore.Event[M]{Kind: peercore.Leave})
	l.again(r)
}

func (r *resource[S, M, P]) drop(c *claim[S, M, P]) {
	at := slices.Index(r.claims, c)
	r.claims = slices.Delete(r.claims, at, at+1)
}

// again asks for the next claim, if there is one.
func (l *Locker[S, M, P]) again(r *resource[S, M, P]) {
	if len(r.claims) > 0 {
		l.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	l.tidy(r)
}

// passOn lets the next local waiter have what is held, or what is asked for, if the
// cohort may go on. It says whether it did.
func (l *Locker[S, M, P]) passOn(r *resource[S, M, P]) bool {
	c := l.protocol.Cohort
	switch {
	case c.Size == 0:
		return false
	case !r.held:
		return true
	case r.served >= c.Size || l.clock.Now().Sub(r.since) >= c.Time:
		return false
	}
	r.served++
	r.grant()
	return true
}

// hold is told that the state machine has the lock.
func (l *Locker[S, M, P]) hold(r *resource[S, M, P]) {
	r.held, r.served, r.since = true, 1, l.clock.Now()
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
	close(c.over)
}

// lose takes the resource from the first claim, whose lease is over.
func (l *Locker[S, M, P]) lose(r *resource[S, M, P]) {
	switch {
	case len(r.claims) > 0 && r.untold != 0: // it was never told to hold, so it still waits
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
	l.again(r)
}

// orphan ends all claims and timers of a resource of a closed locker.
func (l *Locker[S, M, P]) orphan(r *resource[S, M, P]) {
	l.stopAll(r)
	for _, c := range r.claims {
		switch {
		case c.phase == waiting:
			close(c.over)
		case c.lost != nil:
			close(c.lost)
		}
		c.phase = orphaned
	}
}
