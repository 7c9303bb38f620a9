package core

import "locklab/locks/peerlock/peercore"

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

// ConsentedBy takes the consent of every peer that was asked as given, for mutants.
func (s *State) ConsentedBy() { s.consented = s.asked }

// SetBoot makes s believe that it has met all others, for mutants.
func (s *State) SetBoot() { s.boot = true }

// Drop forgets all of a peer that was lost, as if it had never been there, but leaves a
// round that goes on as it is, for mutants. It says that the round has all consents.
func (s *State) Drop(peer int) (complete bool) {
	s.forget(peer)
	s.connected, s.asked, s.consented = s.connected.Without(peer), s.asked.Without(peer), s.consented.Without(peer)
	s.lurkers, s.owed, s.told = s.lurkers.Without(peer), s.owed.Without(peer), s.told.Without(peer)
	return !s.asked.Empty() && s.asked.Within(s.consented)
}

// Acquire takes the lock, for mutants.
func (s *State) Acquire() { s.phase = Acquired }

// Lurk waits without asking, for mutants.
func (s *State) Lurk() { s.phase = Lurking }

// Connect changes nothing but who is connected, for mutants.
func (s *State) Connect(connected peercore.Set) {
	s.connected = connected
	s.boot = s.boot || connected.Equal(s.cfg.Peers)
}

// Owe makes s owe what before owed, for mutants.
func (s *State) Owe(before *State) { s.owed = before.owed }
