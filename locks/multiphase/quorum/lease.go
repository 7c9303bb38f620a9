package quorum

import "locklab/locks/peerlock/peercore"

// expire ends what the timer limits.
func (s *State) expire(t peercore.Timer, out []Effect) []Effect {
	if !s.Running(t) {
		return out
	}
	switch t {
	case peercore.Lease:
		return s.expireLease(out)
	case peercore.Renew:
		s.due = true
		return s.renewIfDue(out)
	case peercore.Vote:
		return s.settle(s.free(true, out))
	case peercore.Recovery:
		s.waited = true
		out = peercore.SendTo(s.connected, Message{Kind: Ask}, out)
		return s.finish(out)
	default:
		return out
	}
}

// expireLease ends a round that took too long: one that holds is lost, one that waits
// is tried again with a new token.
func (s *State) expireLease(out []Effect) []Effect {
	if s.phase == Soliciting {
		return s.settle(s.abandon(out))
	}
	out = append(out, Effect{Kind: peercore.Lose})
	out = s.end(true, out)
	s.phase = None
	return s.settle(out)
}

// renewIfDue asks for another lease, once the one before has been granted. A lease is
// longer only when a majority has answered one and the same renewal: these voters count
// theirs from after it was asked for. So answers name the renewal.
func (s *State) renewIfDue(out []Effect) []Effect {
	if s.phase != Acquired || !s.due || s.renewing {
		return out
	}
	s.seq++
	s.due, s.renewing, s.granted = false, true, peercore.Set{}
	out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Renew}) // the moment from which the lease counts
	out = s.myLock(out)
	if s.votedFor(s.cfg.Self) {
		out = s.count(s.cfg.Self, out)
	}
	return out
}
