package quorum

import "locklab/locks/peerlock/peercore"

// receiveFloor learns which tokens were used, as far as another peer knows.
func (s *State) receiveFloor(from int, m Message, out []Effect) []Effect {
	if !s.recovering || s.cfg.Part == Resource {
		return out
	}
	s.floor = max(s.floor, m.Token)
	if !s.waited { // more may be used by what this peer granted before
		return out
	}
	s.heard = s.heard.With(from)
	if !m.Recovering {
		s.steady = s.steady.With(from)
	}
	return s.finish(out)
}

// finish ends the recovery if enough is known. Otherwise it waits, for more answers or
// for peers to come back. All at once may be recovering, as when a cluster starts: then
// no other peer is left that could know more.
func (s *State) finish(out []Effect) []Effect {
	enough := s.steady.Len() >= s.cfg.steadyNeeded() || s.heard.Equal(s.cfg.Peers)
	if !s.waited || !enough {
		return out
	}
	s.recovering, s.waited, s.heard, s.steady = false, false, peercore.Set{}, peercore.Set{}
	s.seen = max(s.seen, s.floor)
	if s.cfg.Part == Control {
		out = append(out, Effect{Kind: peercore.Recovered, Token: s.floor})
	}
	// Others may still wait for a peer that is not recovering.
	out = peercore.SendTo(s.connected, Message{Kind: Floor, Token: s.seen}, out)
	return s.settle(out)
}

// recover is told by the peer's control state that no token above round was used.
func (s *State) recover(round uint64, out []Effect) []Effect {
	if !s.recovering || s.cfg.Part != Resource {
		return out
	}
	s.recovering = false
	s.seen, s.floor = max(s.seen, round), max(s.floor, round)
	return s.settle(out)
}
