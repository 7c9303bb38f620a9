package core

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// ForgetAsked makes s believe that nobody has asked, for mutants.
func (s *State) ForgetAsked() {
	for peer := range s.outstanding.All() {
		s.forget(peer)
	}
}

// Consent answers the last request of peer, for mutants.
func (s *State) Consent(peer int) (m Message, ok bool) {
	a := s.askOf(peer)
	if a == nil || !s.remembered.Has(peer) {
		return Message{}, false
	}
	s.remembered = s.remembered.Without(peer)
	return Message{Kind: YourLock, Round: a.round}, true
}

// Drop forgets all of a peer that was lost, as if it had never been there, but leaves a
// round that goes on as it is, for mutants. It says that the round has all consents.
func (s *State) Drop(peer int) (complete bool) {
	s.forget(peer)
	s.connected, s.asked, s.consented = s.connected.Without(peer), s.asked.Without(peer), s.consented.Without(peer)
	s.lurkers, s.owed, s.expecting = s.lurkers.Without(peer), s.owed.Without(peer), s.expecting.Without(peer)
	return !s.asked.Empty() && s.asked.Within(s.consented)
}

// Connect changes nothing but who is connected, for mutants.
func (s *State) Connect(connected peercore.Set) {
	s.connected = connected
	s.boot = s.boot || connected == s.cfg.Peers
}

// Clone is an independent copy.
func (s *State) Clone() State {
	c := *s
	c.asks = slices.Clone(s.asks)
	return c
}
