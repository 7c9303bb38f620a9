package quorum

import "locklab/locks/peerlock/peercore"

func (s *State) receive(ev Event, out []Effect) []Effect {
	from, m := ev.Peer, ev.Msg
	if !s.connected.Has(from) {
		return out
	}
	s.seen = max(s.seen, m.Token)
	switch m.Kind {
	case MyLock:
		return s.receiveMyLock(request{from: from, token: m.Token, seq: m.Seq}, out)
	case YourLock:
		if s.claims() && m.Token == s.token && m.Seq == s.seq {
			out = s.count(from, out)
		}
	case Recall:
		if s.phase == Soliciting && m.Token == s.token && s.granted.Has(from) {
			s.granted = s.granted.Without(from)
			out = s.send(from, Message{Kind: Return, Token: m.Token}, out)
		}
	case Return:
		if s.votedFor(from) && s.vote.token == m.Token {
			w := s.vote
			out = s.free(false, out)
			s.waiting.put(w)
			return s.settle(out)
		}
	case LockReset:
		return s.receiveLockReset(from, m.Used, out)
	case Stale:
		if s.phase == Soliciting && m.Token >= s.token {
			return s.settle(s.abandon(out))
		}
	case Ask:
		return s.send(from, Message{Kind: Floor, Token: max(s.seen, ev.Round), Recovering: s.recovering}, out)
	case Floor:
		return s.receiveFloor(from, m, out)
	}
	return out
}

func (s *State) receiveMyLock(r request, out []Effect) []Effect {
	switch {
	case s.votedFor(r.from) && s.vote.token == r.token: // after a lost connection, or a renewal
		s.vote, s.recalled = r, false
		out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Vote})
		out = s.send(r.from, Message{Kind: YourLock, Token: r.token, Seq: r.seq}, out)
		return s.recall(out)
	case s.votedFor(r.from): // its LockReset was lost with a connection
		out = s.free(true, out)
	case s.votedFor(s.cfg.Self) && s.phase == Soliciting && r.from < s.cfg.Self:
		s.granted = s.granted.Without(s.cfg.Self)
		s.waiting.put(s.vote)
		out = s.free(false, out)
	}
	s.waiting.put(r)
	return s.settle(out)
}

func (s *State) receiveLockReset(from int, used bool, out []Effect) []Effect {
	s.waiting.drop(from)
	if s.votedFor(from) {
		out = s.free(used, out)
	}
	return s.settle(out)
}
