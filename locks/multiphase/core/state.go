package core

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// State is what one peer knows of one resource. A State is used by one goroutine
// at a time. A plain copy shares memory.
type State struct {
	cfg   *Config
	phase Phase
	boot  bool // has once been connected to every configured peer at once
	round uint64

	connected   peercore.Set // peers that can be reached
	outstanding peercore.Set // peers whose MyLock has had no LockReset yet
	remembered  peercore.Set // those of outstanding that have not been answered
	asked       peercore.Set // by this round
	consented   peercore.Set // those of asked that consented
	lurkers     peercore.Set // those of consented that wait themselves
	owed        peercore.Set // lurkers that let the last round pass and have not had their turn
	expecting   peercore.Set // peers that a consent told that this one waits

	asks []ask // one for each of outstanding, by rank
}

// ask is another peer's MyLock.
type ask struct {
	from  int
	round uint64
	view  peercore.Set
}

// Reset makes s the state of an unwanted resource, with the connections
// of the idle state like; rounds start above round. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	asks := s.asks[:0]
	*s = State{cfg: like.cfg, boot: like.boot, round: round, connected: like.connected, asks: asks}
}

// String is how far this peer is with the resource.
func (s *State) String() string { return s.phase.String() }

// Round is the round that this peer used last. A State that replaces this one for
// the same resource must start with it: see [State.Reset].
func (s *State) Round() uint64 { return s.round }

// Waits says that the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Lurking || s.phase == Soliciting }

// Holds says that the lock is held.
func (s *State) Holds() bool { return s.phase == Acquired }

// Bootstrapped says whether the peer has once been connected to every other one. Only then
// may it take the lock.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle says that nothing would be lost by forgetting the state: the resource is not wanted
// and nothing is owed.
func (s *State) Idle() bool { return s.phase == None && s.outstanding.Empty() && s.owed.Empty() }

// Code goes through the state: two states of one peer behave alike if and only if what is written of
// them is equal.
func (s *State) Code(c *peercore.Coder) {
	c.Byte((*byte)(&s.phase))
	c.Bools(&s.boot)
	c.Number(&s.round)
	for _, set := range [...]*peercore.Set{
		&s.connected, &s.outstanding, &s.remembered, &s.asked, &s.consented, &s.lurkers, &s.owed, &s.expecting,
	} {
		c.Set(set)
	}
	peercore.List(c, &s.asks, func(a *ask) {
		c.Rank(&a.from)
		c.Number(&a.round)
		c.Set(&a.view)
	})
}

// Renumber replaces every round by what f makes of it, given whose round it is. Only
// the order of one peer's rounds matters.
func (s *State) Renumber(f func(owner int, round uint64) uint64) {
	s.round = f(s.cfg.Self, s.round)
	for i := range s.asks {
		s.asks[i].round = f(s.asks[i].from, s.asks[i].round)
	}
}

// ask of a peer of outstanding.
func (s *State) askOf(peer int) *ask {
	for i := range s.asks {
		if s.asks[i].from == peer {
			return &s.asks[i]
		}
	}
	return nil
}

// record notes that peer asked, in place of what it asked before.
func (s *State) record(peer int, round uint64, view peercore.Set) {
	s.outstanding = s.outstanding.With(peer)
	if a := s.askOf(peer); a != nil {
		a.round, a.view = round, view
		return
	}
	at := len(s.asks)
	for at > 0 && s.asks[at-1].from > peer {
		at--
	}
	s.asks = slices.Insert(s.asks, at, ask{from: peer, round: round, view: view})
}

// forget drops what peer asked.
func (s *State) forget(peer int) {
	s.outstanding = s.outstanding.Without(peer)
	s.remembered = s.remembered.Without(peer)
	s.asks = slices.DeleteFunc(s.asks, func(a ask) bool { return a.from == peer })
}
