package core

import "locklab/locks/peerlock/peercore"

// Step handles one event and appends its effects to out. An event that does not fit
// the phase, such as a second Request, has none.
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
	case peercore.Wake, peercore.Expire: // this algorithm neither pauses nor has leases
	}
	return out
}

func (s *State) request(out []Effect) []Effect {
	if s.phase != None {
		return out
	}
	s.phase = Lurking
	return s.advance(out)
}

// advance lets a lurker solicit once no rule makes it wait. It may be called after every event.
func (s *State) advance(out []Effect) []Effect {
	switch {
	case s.phase != Lurking:
		return out
	case !s.boot: // a peer that was never connected may hold
		return out
	case s.connected.Empty(): // no peer to ask
		s.round++
		s.phase = Acquired
		return append(out, Effect{Kind: peercore.Hold})
	case !s.outstanding.Empty(), !s.owed.Empty():
		return out
	default:
		return s.solicit(out)
	}
}

func (s *State) solicit(out []Effect) []Effect {
	s.round++
	s.phase = Soliciting
	s.asked, s.consented, s.lurkers = s.connected, peercore.Set{}, peercore.Set{}
	s.expecting = peercore.Set{} // the LockReset that ends this round goes to all
	return s.myLock(s.connected, out)
}

// leave releases the lock, or gives up waiting for it.
func (s *State) leave(out []Effect) []Effect {
	switch s.phase {
	case None:
		return out
	case Lurking:
		s.phase = None
		out = s.lockReset(s.expecting, out) // they may wait for this peer to have its turn
		s.expecting = peercore.Set{}
		return out
	case Acquired:
		if s.cfg.Options.Fair {
			s.owed = s.lurkers
		}
	case Soliciting: // no peer was passed, so nothing is owed
	}
	s.phase = None
	s.asked, s.consented, s.lurkers = peercore.Set{}, peercore.Set{}, peercore.Set{}
	out = s.lookAgain(out)
	return s.lockReset(s.connected, out)
}

func (s *State) receive(from int, m Message, out []Effect) []Effect {
	if !s.connected.Has(from) {
		return out
	}
	switch m.Kind {
	case MyLock:
		return s.receiveMyLock(from, m, out)
	case YourLock:
		return s.receiveYourLock(from, m, out)
	case LockReset:
		return s.receiveLockReset(from, m, out)
	}
	return out
}

func (s *State) receiveMyLock(from int, m Message, out []Effect) []Effect {
	if a := s.askOf(from); a != nil && s.cfg.Options.Rounds && m.Round < a.round {
		return out
	} else if a == nil || (s.cfg.Options.Rounds && m.Round > a.round) {
		s.record(from, m.Round, m.View)
		s.remembered = s.remembered.With(from)
	} else { // the same request again, with a wider view
		a.round, a.view = m.Round, m.View
	}
	return s.lookAt(from, out)
}

func (s *State) receiveYourLock(from int, m Message, out []Effect) []Effect {
	if s.phase != Soliciting || !s.asked.Has(from) || (s.cfg.Options.Rounds && m.Round != s.round) {
		return out
	}
	s.consented = s.consented.With(from)
	if m.Lurks {
		s.lurkers = s.lurkers.With(from)
	}
	if s.asked.Within(s.consented) {
		s.phase = Acquired
		out = append(out, Effect{Kind: peercore.Hold})
	}
	return out
}

func (s *State) receiveLockReset(from int, m Message, out []Effect) []Effect {
	s.owed = s.owed.Without(from)
	s.lurkers = s.lurkers.Without(from)
	if a := s.askOf(from); a != nil && (!s.cfg.Options.Rounds || a.round <= m.Round) {
		s.forget(from)
	}
	if s.cfg.Options.Rule == RuleLiteral && s.phase == Lurking && s.boot && s.owed.Empty() {
		return s.solicit(out)
	}
	return s.advance(out)
}

func (s *State) connect(peer int, out []Effect) []Effect {
	if s.connected.Has(peer) { // the old connection was replaced
		out = s.disconnect(peer, out)
	}
	s.connected = s.connected.With(peer)
	s.boot = s.boot || s.connected == s.cfg.Peers
	switch s.phase {
	case None:
	case Lurking:
		return s.advance(out)
	case Soliciting: // tells the others of the wider view
		s.asked = s.asked.With(peer)
		return s.myLock(s.connected, out)
	case Acquired:
		return s.myLock(peercore.SetOf(peer), out)
	}
	return out
}

func (s *State) disconnect(peer int, out []Effect) []Effect {
	s.forget(peer)
	for _, set := range [...]*peercore.Set{&s.connected, &s.asked, &s.consented, &s.lurkers, &s.owed, &s.expecting} {
		*set = set.Without(peer)
	}
	switch {
	case s.phase == Acquired:
		return out
	case s.phase != Soliciting:
		return s.advance(s.lookAgain(out))
	case !s.connected.Empty(): // the consents were given to a peer with another view
		return s.request(s.leave(out))
	default:
		s.phase = Acquired
		return append(out, Effect{Kind: peercore.Hold})
	}
}

// lookAgain answers all remembered requests that can be granted now.
func (s *State) lookAgain(out []Effect) []Effect {
	for peer := range s.remembered.All() {
		out = s.lookAt(peer, out)
	}
	return out
}

// lookAt answers the request of peer if it is remembered and can be granted now.
func (s *State) lookAt(peer int, out []Effect) []Effect {
	a := s.askOf(peer)
	if !s.remembered.Has(peer) || !s.grantable(a) {
		return out
	}
	s.remembered = s.remembered.Without(peer)
	lurks := s.cfg.Options.Fair && s.phase == Lurking
	if lurks {
		s.expecting = s.expecting.With(peer)
	}
	return peercore.SendTo(peercore.SetOf(peer), Message{Kind: YourLock, Round: a.round, Lurks: lurks}, out)
}

func (s *State) grantable(a *ask) bool {
	switch {
	case s.phase == Acquired:
		return false
	case s.phase == Soliciting && a.from > s.cfg.Self: // it ranks lower
		return false
	default:
		return !s.cfg.Options.View || s.connected.Within(a.view.With(a.from))
	}
}

func (s *State) myLock(to peercore.Set, out []Effect) []Effect {
	return peercore.SendTo(to, Message{Kind: MyLock, Round: s.round, View: s.connected}, out)
}

func (s *State) lockReset(to peercore.Set, out []Effect) []Effect {
	return peercore.SendTo(to, Message{Kind: LockReset, Round: s.round}, out)
}
