package twophase

import "locklab/locks/peerlock/peercore"

// Step handles one event and appends its effects to out. An event that does not fit
// the phase, such as a second request, has none.
func (s *State) Step(ev Event, out []Effect) []Effect {
	switch ev.Kind {
	case peercore.Request:
		return s.request(out)
	case peercore.Leave:
		return s.leave(out)
	case peercore.Receive:
		return s.receive(ev.Peer, ev.Msg, out)
	case peercore.Connect:
		return s.connect(ev.Peer, out)
	case peercore.Disconnect:
		return s.disconnect(ev.Peer, out)
	case peercore.Wake:
		s.pausing = false
		return s.prepare(out)
	case peercore.Expire: // this algorithm has no leases
	}
	return out
}

func (s *State) request(out []Effect) []Effect {
	if s.phase != None {
		return out
	}
	s.phase, s.attempt, s.pausing = Waiting, 0, false
	if s.polite {
		s.polite = false
		return s.pause(out)
	}
	return s.prepare(out)
}

// ready reports whether a round could succeed, as far as this peer knows.
func (s *State) ready() bool {
	return s.phase == Waiting && s.boot && s.connected == s.cfg.Peers && !s.reserved.taken
}

// prepare starts a round, if it is ready and does not pause.
func (s *State) prepare(out []Effect) []Effect {
	if !s.ready() || s.pausing {
		return out
	}
	s.round++
	s.phase, s.yes, s.no, s.rivals = Preparing, peercore.Set{}, peercore.Set{}, false
	s.reserved = reservation{taken: true, by: s.cfg.Self, round: s.round}
	return s.decide(s.tell(s.cfg.Peers, Prepare, out))
}

// decide ends the round once all have voted. It waits for all votes even after a No, so that
// no peer owes this one two votes, and only peers that reserved are sent Abort.
func (s *State) decide(out []Effect) []Effect {
	switch {
	case s.yes.Len()+s.no.Len() < s.cfg.Peers.Len():
		return out
	case !s.no.Empty():
		out = s.abandon(out)
		s.attempt++
		return s.pause(out)
	}
	s.phase = Holding
	out = s.tell(s.cfg.Peers, Commit, out)
	return append(out, Effect{Kind: peercore.Hold})
}

// abandon aborts the round at all peers that have reserved, or may have.
func (s *State) abandon(out []Effect) []Effect {
	s.phase = Waiting
	s.reserved = reservation{}
	return s.tell(s.connected.Less(s.no), Abort, out)
}

// pause waits a random time before the next round, so that coordinators that collided, or wait
// for the same event, do not collide again.
func (s *State) pause(out []Effect) []Effect {
	if !s.ready() || s.pausing {
		return out
	}
	s.pausing = true
	return append(out, Effect{Kind: peercore.Pause, Attempt: s.attempt})
}

// leave releases the lock, or gives up waiting for it.
func (s *State) leave(out []Effect) []Effect {
	switch s.phase {
	case None:
		return out
	case Waiting:
	case Preparing:
		out = s.abandon(out)
	case Holding:
		s.polite = s.rivals && s.cfg.Fair
		s.reserved = reservation{}
		out = s.tell(s.connected, Release, out)
	}
	s.phase, s.pausing, s.rivals = None, false, false
	return out
}

func (s *State) receive(from int, m Message, out []Effect) []Effect {
	if !s.connected.Has(from) {
		return out
	}
	if m.FromCoordinator() {
		return s.participate(from, m, out)
	}
	current := m.Round == s.round
	switch {
	case m.Kind == Inquire && current && s.phase == Preparing: // the decision will answer
	case m.Kind == Inquire:
		kind := Abort
		if current && s.phase == Holding {
			kind = Commit
		}
		return answer(from, kind, m.Round, out)
	case !current || s.phase != Preparing: // a late vote
	case m.Kind == Yes, m.Kind == YesWaiting:
		s.yes = s.yes.With(from)
		s.rivals = s.rivals || m.Kind == YesWaiting
		return s.decide(out)
	case m.Kind == No:
		s.no = s.no.With(from)
		return s.decide(out)
	}
	return out
}

// participate handles a coordinator's message about its round.
func (s *State) participate(from int, m Message, out []Effect) []Effect {
	switch m.Kind {
	case Prepare:
		vote := No
		// A coordinator has one round at a time, so its earlier one is over.
		if !s.reserved.taken || s.reserved.by == from {
			vote = Yes
			if s.phase == Waiting {
				vote = YesWaiting
			}
			s.reserved = reservation{taken: true, by: from, round: m.Round}
		}
		return answer(from, vote, m.Round, out)
	case Abort, Release:
		if s.reserved == (reservation{taken: true, by: from, round: m.Round}) {
			s.reserved = reservation{}
			if m.Kind == Release {
				s.attempt = 0 // so that an often refused peer does not pause longer than others
			}
			return s.pause(out)
		}
	default: // Commit changes nothing: Release ends the reservation
	}
	return out
}

func (s *State) connect(peer int, out []Effect) []Effect {
	if s.connected.Has(peer) { // the old connection was replaced
		out = s.disconnect(peer, out)
	}
	s.connected = s.connected.With(peer)
	s.boot = s.boot || s.connected == s.cfg.Peers
	if s.reserved.taken && s.reserved.by == peer {
		out = answer(peer, Inquire, s.reserved.round, out)
	}
	return s.pause(out)
}

func (s *State) disconnect(peer int, out []Effect) []Effect {
	s.connected = s.connected.Without(peer)
	if s.phase == Preparing {
		return s.abandon(out)
	}
	return out
}

// tell appends a message about the own round to the peers of to, if there are any.
func (s *State) tell(to peercore.Set, kind MessageKind, out []Effect) []Effect {
	return peercore.SendTo(to, Message{Kind: kind, Round: s.round}, out)
}

// answer appends a message about a round to one peer.
func answer(to int, kind MessageKind, round uint64, out []Effect) []Effect {
	return peercore.SendTo(peercore.SetOf(to), Message{Kind: kind, Round: round}, out)
}
