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
	clock uint64 // at least every timestamp that was seen
	at    uint64 // of the own request, unless the phase is None

	connected peercore.Set
	// heard are those that answered the own request, or have released after it: what they
	// ask for from now on is later.
	heard peercore.Set
	// queue is the requests of the others, the earliest first. With Defer it is those that are to be
	// answered on leaving.
	queue []request
}

// request is another peer's wish for the lock.
type request struct {
	at   uint64
	from int
}

// before is the order of all requests.
func (r request) before(o request) bool { return r.at < o.at || (r.at == o.at && r.from < o.from) }

// Reset makes s the state of an unwanted resource, with the connections
// of the state like; its timestamps are above round. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	*s = State{cfg: like.cfg, boot: like.boot, clock: round, connected: like.connected, queue: s.queue[:0]}
}

// String is how far this peer is with the resource.
func (s *State) String() string { return s.phase.String() }

// Waits says that the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Waiting }

// Holds says that the lock is held.
func (s *State) Holds() bool { return s.phase == Holding }

// Round is the clock: what this peer has promised its timestamps to be above.
func (s *State) Round() uint64 { return s.clock }

// Bootstrapped says whether the peer has once been connected to every other one.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle says that nothing but the clock would be lost by forgetting the state.
func (s *State) Idle() bool { return s.phase == None && len(s.queue) == 0 }

// Code goes through the state: two states of one peer of which the same is written behave alike.
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

// enqueue notes the request of a peer, in place of what it asked before.
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
