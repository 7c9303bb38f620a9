package lamport

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// State is what one peer knows of one resource. A State is used by one goroutine
// at a time. A plain copy shares memory.
type State struct {
	cfg   *Member
	phase Phase
	boot  bool   // has once been connected to every configured peer
	clock uint64 // at least every timestamp seen so far
	at    uint64 // timestamp of this peer's request, unless the phase is None

	connected peercore.Set
	// heard are the peers that answered this peer's request, or have released after it:
	// their next requests are later.
	heard peercore.Set
	// queue is the others' requests, the earliest first; with Defer, those to answer on leaving.
	queue []request
}

// request is another peer's request for the lock.
type request struct {
	at   uint64
	from int
}

// before orders all requests.
func (r request) before(o request) bool { return r.at < o.at || (r.at == o.at && r.from < o.from) }

// Reset makes s the state of an unwanted resource, with the connections of like and
// timestamps above round. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	*s = State{cfg: like.cfg, boot: like.boot, clock: round, connected: like.connected, queue: s.queue[:0]}
}

// String returns the phase.
func (s *State) String() string { return s.phase.String() }

// Waits reports whether the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Waiting }

// Holds reports whether the lock is held.
func (s *State) Holds() bool { return s.phase == Holding }

// Round returns the clock. Later timestamps of this peer are above it.
func (s *State) Round() uint64 { return s.clock }

// Bootstrapped reports whether the peer has once been connected to all others at once.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle reports whether the state holds no information but the clock.
func (s *State) Idle() bool { return s.phase == None && len(s.queue) == 0 }

// Code encodes or decodes the state. Two states of one peer with the same code behave alike.
func (s *State) Code(c *peercore.Coder) {
	if c.Reads {
		*s = State{cfg: s.cfg, queue: s.queue[:0]}
	}
	c.Byte((*byte)(&s.phase))
	c.Bools(&s.boot)
	c.Number(&s.clock)
	if s.phase != None {
		c.Number(&s.at)
		c.Set(&s.heard)
	}
	c.Set(&s.connected)
	peercore.List(c, &s.queue, func(r *request) {
		c.Number(&r.at)
		c.Rank(&r.from)
	})
}

// enqueue adds the request of a peer, in place of its earlier one.
func (s *State) enqueue(r request) {
	s.dequeue(r.from)
	at := len(s.queue)
	for at > 0 && r.before(s.queue[at-1]) {
		at--
	}
	s.queue = slices.Insert(s.queue, at, r)
}

// dequeue drops the request of a peer, if there is one.
func (s *State) dequeue(peer int) {
	s.queue = slices.DeleteFunc(s.queue, func(r request) bool { return r.from == peer })
}
