package core

import (
	"encoding/binary"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// State is what one peer knows of one resource. A State is used by one goroutine
// at a time. Copy it with [State.Clone]: a plain assignment shares memory.
type State struct {
	cfg   *Config
	phase Phase
	boot  bool   // has once been connected to every configured peer
	clock uint64 // at least every timestamp that was seen
	at    uint64 // of the own request, unless the phase is None

	connected peercore.Set
	replied   peercore.Set // to the own request
	deferred  []request    // by rank
}

// request is another peer's wish for the lock.
type request struct {
	at   uint64
	from int
}

// before is the order of all requests.
func (r request) before(o request) bool { return r.at < o.at || (r.at == o.at && r.from < o.from) }

// New is a resource that nobody wants, at a peer that is connected to nobody. The
// config is kept, not copied, and must not change.
func New(cfg *Config) State { return State{cfg: cfg, boot: cfg.Peers.Empty()} }

// Reset makes s the state of a resource that nobody wants, with the connections
// of the state like; its timestamps are above round. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	*s = State{cfg: like.cfg, boot: like.boot, clock: round, connected: like.connected, deferred: s.deferred[:0]}
}

// Phase is how far this peer is with the resource.
func (s *State) Phase() Phase { return s.phase }

// Waits says that the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Waiting }

// Holds says that the lock is held.
func (s *State) Holds() bool { return s.phase == Holding }

// Round is the clock: own timestamps are above it.
func (s *State) Round() uint64 { return s.clock }

// Connected is the set of peers that can be reached.
func (s *State) Connected() peercore.Set { return s.connected }

// Bootstrapped says whether the peer has once been connected to every other one.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle says that nothing but the clock would be lost by forgetting the state.
func (s *State) Idle() bool { return s.phase == None }

// Clone is an independent copy.
func (s *State) Clone() State {
	c := *s
	c.deferred = slices.Clone(s.deferred)
	return c
}

// AppendEncode appends a canonical encoding: two states of one peer with the same
// encoding behave alike.
func (s *State) AppendEncode(b []byte) []byte {
	flags := byte(s.phase)
	if s.boot {
		flags |= 0x80
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, s.clock)
	if s.phase != None {
		b = binary.AppendUvarint(b, s.at)
		b = s.replied.Append(b)
	}
	b = s.connected.Append(b)
	b = append(b, byte(len(s.deferred)))
	for _, r := range s.deferred {
		b = binary.AppendUvarint(b, r.at)
		b = append(b, byte(r.from))
	}
	return b
}

// Renumber replaces every timestamp by what f makes of it. Those of all peers are
// compared with each other, so all have one owner.
func (s *State) Renumber(f func(owner int, at uint64) uint64) {
	s.clock = f(0, s.clock)
	if s.phase != None {
		s.at = f(0, s.at)
	}
	for i := range s.deferred {
		s.deferred[i].at = f(0, s.deferred[i].at)
	}
}

// Load makes s the state that AppendEncode wrote at the front of b and returns the
// rest of b. It keeps the configuration.
func (s *State) Load(b []byte) []byte {
	c := peercore.Cursor(b)
	flags := c.Byte()
	*s = State{cfg: s.cfg, phase: Phase(flags &^ 0x80), boot: flags&0x80 != 0, clock: c.Uvarint(), deferred: s.deferred[:0]}
	if s.phase != None {
		s.at, s.replied = c.Uvarint(), c.Set()
	}
	s.connected = c.Set()
	for range c.Byte() {
		s.deferred = append(s.deferred, request{at: c.Uvarint(), from: int(c.Byte())})
	}
	return c
}

// put keeps a request for later, in place of what its peer asked before.
func (s *State) put(r request) {
	s.drop(r.from)
	at := len(s.deferred)
	for at > 0 && r.from < s.deferred[at-1].from {
		at--
	}
	s.deferred = slices.Insert(s.deferred, at, r)
}

// drop forgets the deferred request of a peer, if there is one.
func (s *State) drop(peer int) {
	for i := range s.deferred {
		if s.deferred[i].from == peer {
			s.deferred = slices.Delete(s.deferred, i, i+1)
			return
		}
	}
}
