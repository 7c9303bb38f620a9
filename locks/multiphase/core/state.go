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
	remembered  peercore.Set // outstanding peers that were not answered yet
	asked       peercore.Set // peers that were sent MyLock in this round
	consented   peercore.Set // asked peers that consented
	lurkers     peercore.Set // consenting peers that wait themselves
	owed        peercore.Set // lurkers that the last hold passed and that have not had their turn
	expecting   peercore.Set // peers that this one told, with its consent, that it waits

	asks []ask // one for each outstanding peer, by rank
}

// ask is another peer's MyLock.
type ask struct {
	from  int
	round uint64
	view  peercore.Set
}

// Reset makes s the state of an unwanted resource, with the connections of like and
// rounds above round. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	asks := s.asks[:0]
	*s = State{cfg: like.cfg, boot: like.boot, round: round, connected: like.connected, asks: asks}
}

// String returns the phase.
func (s *State) String() string { return s.phase.String() }

// Round returns the round that this peer used last, for [State.Reset] of the state that replaces this one.
func (s *State) Round() uint64 { return s.round }

// Waits reports whether the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Lurking || s.phase == Soliciting }

// Holds reports whether the lock is held.
func (s *State) Holds() bool { return s.phase == Acquired }

// Bootstrapped reports whether the peer has once been connected to all others at once.
// Only then may it take the lock.
func (s *State) Bootstrapped() bool { return s.boot }

// Idle reports whether the state can be forgotten: the resource is not wanted and no turn is owed.
func (s *State) Idle() bool { return s.phase == None && s.outstanding.Empty() && s.owed.Empty() }

// Code encodes or decodes the state. Two states of one peer behave alike if and only if their codes are equal.
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

// Renumber replaces every round by f(owner, round). Only the order of one peer's rounds matters.
func (s *State) Renumber(f func(owner int, round uint64) uint64) {
	s.round = f(s.cfg.Self, s.round)
	for i := range s.asks {
		s.asks[i].round = f(s.asks[i].from, s.asks[i].round)
	}
}

// askOf returns the ask of an outstanding peer, nil for others.
func (s *State) askOf(peer int) *ask {
	for i := range s.asks {
		if s.asks[i].from == peer {
			return &s.asks[i]
		}
	}
	return nil
}

// record adds the ask of peer, in place of its earlier one.
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

// forget drops the ask of peer.
func (s *State) forget(peer int) {
	s.outstanding = s.outstanding.Without(peer)
	s.remembered = s.remembered.Without(peer)
	s.asks = slices.DeleteFunc(s.asks, func(a ask) bool { return a.from == peer })
}
