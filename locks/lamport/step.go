package lamport

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
	case peercore.Wake, peercore.Expire: // this algorithm neither pauses nor has leases
	}
	return out
}

func (s *State) request(out []Effect) []Effect {
	if s.phase != None {
		return out
	}
	s.clock++
	s.at = s.clock
	s.heard = peercore.Set{}
	s.phase = Waiting
	return s.advance(peercore.SendTo(s.connected, Message{Request, s.at}, out))
}

// leave releases the lock, or gives up waiting for it.
func (s *State) leave(out []Effect) []Effect {
	if s.phase == None {
		return out
	}
	s.phase = None
	if !s.cfg.Defer {
		return peercore.SendTo(s.connected, Message{Release, s.clock}, out)
	}
	for _, r := range s.queue {
		out = peercore.SendTo(peercore.SetOf(r.from), Message{Reply, r.at}, out)
	}
	s.queue = s.queue[:0]
	return out
}

// advance takes the lock if no other peer can come first any more. It may be called after every event.
func (s *State) advance(out []Effect) []Effect {
	needed := s.cfg.Peers
	if s.cfg.Detect {
		needed = s.connected
	}
	switch {
	case s.phase != Waiting, !s.boot, !needed.Within(s.heard):
		return out
	case !s.cfg.Defer && len(s.queue) > 0 && s.queue[0].before(s.own()):
		return out
	}
	s.phase = Holding
	return append(out, Effect{Kind: peercore.Hold})
}

func (s *State) own() request { return request{at: s.at, from: s.cfg.Self} }

func (s *State) receive(from int, m Message, out []Effect) []Effect {
	if !s.connected.Has(from) {
		return out
	}
	s.clock = max(s.clock, m.At)
	switch m.Kind {
	case Request:
		r := request{at: m.At, from: from}
		if s.cfg.Defer {
			return s.replyOrDefer(r, out)
		}
		s.enqueue(r)
		if s.phase == Holding && r.before(s.own()) {
			return out // from a restarted peer: it must wait for the Release
		}
		return peercore.SendTo(peercore.SetOf(from), Message{Ack, m.At}, out)
	case Ack, Reply:
		if s.phase == Waiting && m.At == s.at {
			s.heard = s.heard.With(from)
		}
	case Release:
		s.dequeue(from)
		if s.phase == Waiting && m.At >= s.at {
			s.heard = s.heard.With(from)
		}
	}
	return s.advance(out)
}

// replyOrDefer answers a request at once, unless this peer holds or asked earlier.
func (s *State) replyOrDefer(r request, out []Effect) []Effect {
	if s.phase == Holding || (s.phase == Waiting && s.own().before(r)) {
		s.enqueue(r)
		return out
	}
	s.dequeue(r.from) // its earlier request no longer counts
	return peercore.SendTo(peercore.SetOf(r.from), Message{Reply, r.at}, out)
}

func (s *State) connect(peer int, out []Effect) []Effect {
	if s.connected.Has(peer) { // the old connection was replaced
		out = s.disconnect(peer, out)
	}
	s.connected = s.connected.With(peer)
	s.boot = s.boot || s.connected == s.cfg.Peers
	if s.phase == Waiting || (s.phase == Holding && !s.cfg.Defer) {
		out = peercore.SendTo(peercore.SetOf(peer), Message{Request, s.at}, out)
	}
	return out
}

func (s *State) disconnect(peer int, out []Effect) []Effect {
	s.connected = s.connected.Without(peer)
	s.heard = s.heard.Without(peer)
	s.dequeue(peer)
	return s.advance(out)
}
