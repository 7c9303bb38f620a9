package twophase

import "locklab/locks/peerlock/peercore"

// State is what one peer knows of one resource. A State is used by one goroutine at
// a time. It shares no memory: an assignment copies it.
type State struct {
	cfg       *Member
	boot      bool // has once been connected to every configured peer
	connected peercore.Set

	// The coordinator.
	phase   Phase
	round   uint64       // the latest
	yes, no peercore.Set // the votes of this round
	attempt int          // rounds refused since the request, or since a release
	pausing bool         // the next round waits for a Wake
	rivals  bool         // a peer that voted Yes waits for the lock, too
	polite  bool         // the next round must begin with a pause

	// The participant.
	reserved reservation
}

// reservation is the round for which a participant has reserved the resource.
type reservation struct {
	taken bool
	by    int
	round uint64
}

// Reset makes s the state of an unwanted resource, with the connections of like and
// rounds above round.
func (s *State) Reset(like *State, round uint64) {
	*s = State{cfg: like.cfg, boot: like.boot, connected: like.connected, round: round}
}

// String returns the phase.
func (s *State) String() string { return s.phase.String() }

// Waits reports whether the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Waiting || s.phase == Preparing }

// Holds reports whether the lock is held.
func (s *State) Holds() bool { return s.phase == Holding }

// Pauses reports whether Wake would have an effect.
func (s *State) Pauses() bool { return s.pausing }

// Round returns the round that this peer used last.
func (s *State) Round() uint64 { return s.round }

// Bootstrapped reports whether the peer has once been connected to all others at once.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle reports whether the state holds no information but the round and a pause for fairness.
func (s *State) Idle() bool { return s.phase == None && !s.reserved.taken }

// Code encodes or decodes the state. Two states of one peer with the same code behave alike, except for
// the length of their pauses.
func (s *State) Code(c *peercore.Coder) {
	if c.Reads {
		*s = State{cfg: s.cfg}
	}
	c.Byte((*byte)(&s.phase))
	c.Bools(&s.rivals, &s.polite, &s.boot, &s.pausing, &s.reserved.taken)
	c.Number(&s.round)
	c.Set(&s.connected)
	if s.phase == Preparing {
		c.Set(&s.yes)
		c.Set(&s.no)
	}
	if s.reserved.taken {
		c.Rank(&s.reserved.by)
		c.Number(&s.reserved.round)
	}
}

// Renumber replaces every round by f(owner, round). The owner is the round's coordinator.
func (s *State) Renumber(f func(owner int, round uint64) uint64) {
	s.round = f(s.cfg.Self, s.round)
	if s.reserved.taken {
		s.reserved.round = f(s.reserved.by, s.reserved.round)
	}
}
