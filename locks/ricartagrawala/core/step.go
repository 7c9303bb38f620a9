package core

import "locklab/locks/peerlock/peercore"

// Step takes one event and appends what is to be done about it to out. An event
// that does not fit the phase, such as a second request, does nothing.
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
	case peercore.Wake, peercore.Expire, peercore.Recover: // this algorithm neither pauses nor has leases
	}
	return out
}

func (s *State) request(out []Effect) []Effect {
	if s.phase != None {
		return out
	}
	s.clock++
	s.at = s.clock
	s.replied = peercore.Set{}
	s.phase = Waiting
	return s.advance(s.ask(s.connected, out))
}

// leave releases the lock, or gives up waiting for it.
func (s *State) leave(out []Effect) []Effect {
	if s.phase == None {
		return out
	}
	s.phase = None
	for _, r := range s.deferred {
		out = reply(r, out)
	}
	s.deferred = s.deferred[:0]
	return out
}

// advance takes the lock as soon as everybody who is needed has let this peer go
// first. It can be called after every event.
func (s *State) advance(out []Effect) []Effect {
	needed := s.cfg.Peers
	if s.cfg.Detect {
		needed = s.connected
	}
	if s.phase != Waiting || !s.boot || !needed.Within(s.replied) {
		return out
	}
	s.phase = Holding
	return append(out, Effect{Kind: peercore.Hold})
}

func (s *State) receive(from int, m Message, out []Effect) []Effect {
	if !s.connected.Has(from) {
		return out
	}
	s.clock = max(s.clock, m.At)
	switch m.Kind {
	case Request:
		r, own := request{at: m.At, from: from}, request{at: s.at, from: s.cfg.Self}
		if s.phase == Holding || (s.phase == Waiting && own.before(r)) {
			s.put(r)
			return out
		}
		s.drop(from) // what it asked before is no more
		return reply(r, out)
	case Reply:
		if s.phase == Waiting && m.At == s.at {
			s.replied = s.replied.With(from)
			return s.advance(out)
		}
	}
	return out
}

func (s *State) connect(peer int, out []Effect) []Effect {
	if s.connected.Has(peer) { // the old connection was replaced
		out = s.disconnect(peer, out)
	}
	s.connected = s.connected.With(peer)
	s.boot = s.boot || s.connected.Equal(s.cfg.Peers)
	if s.phase == Waiting {
		out = s.ask(peercore.SetOf(peer), out)
	}
	return out
}

func (s *State) disconnect(peer int, out []Effect) []Effect {
	s.connected = s.connected.Without(peer)
	s.replied = s.replied.Without(peer)
	s.drop(peer)
	return s.advance(out)
}

// ask sends the own request to the peers of to, if there are any.
func (s *State) ask(to peercore.Set, out []Effect) []Effect {
	if to.Empty() {
		return out
	}
	return append(out, Effect{Kind: peercore.Send, To: to, Msg: Message{Kind: Request, At: s.at}})
}

// reply answers the request.
func reply(r request, out []Effect) []Effect {
	return append(out, Effect{
		Kind: peercore.Send, To: peercore.SetOf(r.from), Msg: Message{Kind: Reply, At: r.at},
	})
}
