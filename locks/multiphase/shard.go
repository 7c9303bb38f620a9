package multiphase

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/locks/mesh"
	"locklab/locks/multiphase/core"
)

const (
	shardCount = 16 // a power of two
	lateCount  = 64 // resources that nobody wants are kept by each shard
)

// errTooMany says that Config.Resources is used up.
var errTooMany = errors.New("multiphase: too many resources")

// shard holds the resources whose names hash to it. Resources do not know of each
// other, so each shard lives by itself and sees the connections of the mesh come
// and go on its own.
type shard struct {
	locker    *Locker
	mu        sync.Mutex
	closed    bool
	idle      core.State // what a resource that nobody wants looks like now
	links     [core.MaxPeers]*mesh.Link
	resources map[string]*resource // those that somebody wants, and the late ones
	round     uint64               // at least that of every forgotten state
	limit     int                  // of len(resources)
	sent      uint64               // messages
	cohort    int                  // Options.Cohort
	clock     clock.Clock

	// The resources that were wanted last stay a while, because a name that was
	// used is often used again. lateAt is the place of the next one.
	late   [lateCount]*resource
	lateAt int

	// What is to be sent waits here until somebody flushes, so that a message does
	// not cost a lock of its own at every link.
	out  [core.MaxPeers]outbox
	full core.Set // ranks whose outbox is not empty
	bit  uint32   // in Locker.marked, set while full is not empty

	// To be used again:
	free    []*resource
	wakes   []chan struct{} // empty
	effects []core.Effect
	wire    []byte
	frame   []byte
}

// outbox is what a shard has to say to one peer.
type outbox struct {
	frames []byte
	n      int
}

// resource is what this peer knows of one resource, and its own waiters in order
// of arrival. The state machine works for the first of them.
type resource struct {
	name        string
	state       core.State
	first, last *claim
	late        bool // it is in shard.late
	cohort      cohort
}

// cohort is who was served by the acquisition that holds the resource now.
type cohort struct {
	served int
	since  time.Time
}

// newWake gives c a channel to wait on.
func (s *shard) newWake(c *claim) {
	if n := len(s.wakes); n > 0 {
		c.wake, s.wakes = s.wakes[n-1], s.wakes[:n-1]
		return
	}
	c.wake = make(chan struct{}, 1)
}

// keepWake takes the channel, which is empty, back from c, whose wait is over.
func (s *shard) keepWake(c *claim) {
	const keep = 1024
	if len(s.wakes) < keep {
		s.wakes = append(s.wakes, c.wake)
	}
	c.wake = nil
}

// get finds a resource or makes it.
func (s *shard) get(name string) (*resource, error) {
	if r := s.resources[name]; r != nil {
		return r, nil
	}
	return s.add(name)
}

func (s *shard) add(name string) (*resource, error) {
	if len(s.resources) >= s.limit && !s.evict() {
		return nil, errTooMany
	}
	var r *resource
	if n := len(s.free); n > 0 {
		r, s.free = s.free[n-1], s.free[:n-1]
	} else {
		r = &resource{}
	}
	r.name = name
	r.state.Reset(&s.idle, s.round)
	s.resources[name] = r
	return r, nil
}

// tidy sees to it that r is forgotten some time if nobody wants it any more.
func (s *shard) tidy(r *resource) {
	if r.late || r.wanted() {
		return
	}
	r.late = true
	oldest := s.late[s.lateAt]
	s.late[s.lateAt] = r
	s.lateAt = (s.lateAt + 1) % lateCount
	if oldest == nil {
		return
	}
	if oldest.late = false; !oldest.wanted() {
		s.forget(oldest)
	}
}

func (r *resource) wanted() bool { return r.first != nil || !r.state.Idle() }

// evict forgets one of the late resources, if there is one.
func (s *shard) evict() bool {
	for i, r := range s.late {
		if r != nil && !r.wanted() {
			s.late[i], r.late = nil, false
			s.forget(r)
			return true
		}
	}
	return false
}

func (s *shard) forget(r *resource) {
	const keep = 1024
	delete(s.resources, r.name)
	s.round = max(s.round, r.state.Round())
	if len(s.free) < keep {
		r.name = ""
		s.free = append(s.free, r)
	}
}

// push puts c at the end of the queue, and asks for the lock if it is alone there.
func (s *shard) push(r *resource, c *claim) {
	c.res = r
	if r.last != nil {
		r.last.next, c.prev, r.last = c, r.last, c
		return
	}
	r.first, r.last = c, c
	s.step(r, core.Event{Kind: core.Request})
}

// pop takes c out of its queue. If the state machine worked for it, or c held the
// lock, that ends and the next one's turn begins: in a cohort without asking again.
func (s *shard) pop(c *claim) {
	r := c.res
	first, holds := r.first == c, r.state.Phase() == core.Acquired
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		r.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		r.last = c.prev
	}
	c.res, c.prev, c.next = nil, nil, nil
	if !first || (r.first != nil && s.keep(r, holds)) {
		return
	}
	s.step(r, core.Event{Kind: core.Leave})
	if r.first != nil {
		s.step(r, core.Event{Kind: core.Request})
	}
	s.tidy(r)
}

// keep lets the next local waiter have what is held, or what is asked for, if the
// cohort may go on. It says whether it did.
func (s *shard) keep(r *resource, holds bool) bool {
	switch {
	case s.cohort == 0:
		return false
	case !holds:
		return true
	case r.cohort.served >= s.cohort || s.clock.Now().Sub(r.cohort.since) >= cohortTime:
		return false
	}
	r.cohort.served++
	r.grant()
	return true
}

// grant hands the resource to the first waiter.
func (r *resource) grant() {
	r.first.phase = held
	r.first.wake <- struct{}{}
}

// step runs the state machine and carries out what it asks for.
func (s *shard) step(r *resource, ev core.Event) {
	s.effects = r.state.Step(ev, s.effects[:0])
	for i := range s.effects {
		e := &s.effects[i]
		if e.Kind == core.Hold {
			if s.cohort > 0 {
				r.cohort = cohort{served: 1, since: s.clock.Now()}
			}
			r.grant()
			continue
		}
		s.wire = appendMessage(s.wire[:0], r.name, e.Msg)
		s.frame = mesh.AppendFrame(s.frame[:0], s.wire)
		for to := uint64(e.To); to != 0; to &= to - 1 {
			box := &s.out[bits.TrailingZeros64(to)]
			box.frames = append(box.frames, s.frame...)
			box.n++
			s.sent++
		}
		if s.full == 0 {
			s.locker.marked.Or(s.bit)
		}
		s.full |= e.To
	}
}

// collect hands what the shard has to say to the links.
func (s *shard) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rank := range s.full.All() {
		box := &s.out[rank]
		s.links[rank].SendFrames(box.frames, box.n)
		box.frames, box.n = box.frames[:0], 0
	}
	s.full = 0
}

// receive takes one message that came over link.
func (s *shard) receive(link *mesh.Link, name []byte, m core.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	r := s.resources[string(name)]
	if r == nil {
		if m.Kind != core.MyLock { // nothing to an idle state
			return nil
		}
		var err error
		if r, err = s.add(string(name)); err != nil {
			return fmt.Errorf("resource %.64q: %w", name, err)
		}
	}
	s.step(r, core.Event{Kind: core.Receive, Peer: link.Rank(), Msg: m})
	s.tidy(r)
	return nil
}

// connection tells all resources that a connection came or went.
func (s *shard) connection(link *mesh.Link, kind core.EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ev := core.Event{Kind: kind, Peer: link.Rank()}
	s.links[link.Rank()] = nil
	s.out[link.Rank()] = outbox{} // what was meant for the lost connection must not go over another
	s.full = s.full.Without(link.Rank())
	if kind == core.Connect {
		s.links[link.Rank()] = link
	}
	s.effects = s.idle.Step(ev, s.effects[:0]) // has no effects: nobody wants it
	for _, r := range s.resources {            // any order: resources are independent
		s.step(r, ev)
		s.tidy(r)
	}
}

// close ends all claims.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.resources {
		for c := r.first; c != nil; c = c.next {
			if c.phase == waiting {
				c.wake <- struct{}{}
			}
			c.phase = orphaned
		}
	}
	s.resources = nil
}
