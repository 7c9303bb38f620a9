package quorum

import "locklab/locks/peerlock/peercore"

// Step handles one event and appends its effects to out. An event that does not fit
// the phase, such as a second Request, has none.
func (s *State) Step(ev Event, out []Effect) []Effect {
	switch ev.Kind {
	case peercore.Request:
		if s.phase == None {
			s.phase = Lurking
			return s.settle(out)
		}
	case peercore.Leave:
		return s.leave(out)
	case peercore.Receive:
		return s.receive(ev, out)
	case peercore.Connect:
		return s.connect(ev.Peer, out)
	case peercore.Disconnect:
		return s.disconnect(ev.Peer, out)
	case peercore.Expire:
		return s.expire(ev.Timer, out)
	case peercore.Wake: // this algorithm does not pause
	}
	return out
}

// settle gives the vote, solicits and recalls, as far as possible. It is called after every
// change of the vote, of the waiting requests and of the connections.
func (s *State) settle(out []Effect) []Effect {
	out = s.grantNext(out)
	if s.phase == Lurking && !s.voted() && len(s.waiting) == 0 && s.seesMost() {
		out = s.solicit(out)
	}
	return s.recall(out)
}

// seesMost reports whether this peer is connected to a majority. Otherwise it does not ask: it
// could not win, and would only keep votes from others.
func (s *State) seesMost() bool { return s.connected.Len()+1 >= s.cfg.majority() }

// grantNext gives the vote, if it is free, to the highest-ranking waiting request
// whose token can't have been used. The others are refused.
func (s *State) grantNext(out []Effect) []Effect {
	for !s.voted() && len(s.waiting) > 0 {
		w := s.waiting.pop()
		switch {
		case w.token > s.floor:
			s.vote, s.recalled = w, false
			out = s.store(out)
			if w.from == s.cfg.self {
				out = s.count(w.from, out)
				continue
			}
			out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Vote})
			out = s.send(w.from, Message{Kind: YourLock, Token: w.token, Seq: w.seq}, out)
		case w.from == s.cfg.self:
			// A holder's own vote, which it gave to another, may come back too late for its
			// token. Nothing changes: it holds by the votes of others.
			if s.phase == Soliciting {
				out = s.abandon(out)
			}
		default:
			out = s.send(w.from, Message{Kind: Stale, Token: s.floor}, out)
		}
	}
	return out
}

// solicit begins a round.
func (s *State) solicit(out []Effect) []Effect {
	s.phase = Soliciting
	s.token = Token(Counter(s.seen)+1, s.cfg.self)
	s.seen = s.token
	s.vote = request{from: s.cfg.self, token: s.token}
	s.granted, s.seq, s.renewing, s.due = peercore.Set{}, 0, false, false
	out = append(out,
		Effect{Kind: peercore.Start, Timer: peercore.Renew}, // the moment from which the lease counts
		Effect{Kind: peercore.Start, Timer: peercore.Lease})
	out = s.store(out)
	out = s.myLock(out)
	return s.count(s.cfg.self, out)
}

// count adds the vote of a peer, or its answer to the latest renewal.
func (s *State) count(from int, out []Effect) []Effect {
	switch {
	case s.phase == Soliciting:
		s.granted = s.granted.With(from)
		if s.granted.Len() < s.cfg.majority() {
			return out
		}
		s.phase, s.granted = Acquired, peercore.Set{}
		out = append(out, Effect{Kind: peercore.Hold, Token: s.token})
		return s.renewIfDue(out)
	case s.phase == Acquired && s.renewing:
		s.granted = s.granted.With(from)
		if s.granted.Len() < s.cfg.majority() {
			return out
		}
		s.renewing, s.granted = false, peercore.Set{}
		out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Lease})
		return s.renewIfDue(out)
	}
	return out
}

// leave releases the lock, or gives up waiting for it.
func (s *State) leave(out []Effect) []Effect {
	switch s.phase {
	case None:
		return out
	case Lurking:
		s.phase = None
		return out
	case Soliciting:
		out = s.abandon(out)
	case Acquired:
		out = s.end(true, out)
	}
	s.phase = None
	return s.settle(out)
}

// abandon ends a round in which the lock was not acquired, though it is still wanted. LockReset precedes
// the MyLock of the next round, so that lower-ranking peers get a turn at voters that refuse this one.
func (s *State) abandon(out []Effect) []Effect { return s.end(false, out) }

// end ends a round. The caller settles.
func (s *State) end(used bool, out []Effect) []Effect {
	if used {
		s.floor = max(s.floor, s.token)
	}
	if s.votedFor(s.cfg.self) {
		out = s.free(used, out)
	}
	s.waiting.drop(s.cfg.self)
	s.phase, s.token, s.seq = Lurking, 0, 0
	s.granted, s.renewing, s.due = peercore.Set{}, false, false
	out = append(out,
		Effect{Kind: peercore.Stop, Timer: peercore.Renew},
		Effect{Kind: peercore.Stop, Timer: peercore.Lease})
	return peercore.SendTo(s.connected, Message{Kind: LockReset, Used: used}, out)
}

// free takes the vote back. Used says that its token may have been used.
func (s *State) free(used bool, out []Effect) []Effect {
	if used {
		s.floor = max(s.floor, s.vote.token)
	}
	if s.vote.from != s.cfg.self {
		out = append(out, Effect{Kind: peercore.Stop, Timer: peercore.Vote})
	}
	s.vote, s.recalled = request{}, false
	return out
}

// recall asks once for the vote back if a higher-ranking peer waits for it.
func (s *State) recall(out []Effect) []Effect {
	h := s.vote
	if !s.voted() || s.recalled || h.from == s.cfg.self || !s.connected.Has(h.from) ||
		len(s.waiting) == 0 || s.waiting[0].from > h.from {
		return out
	}
	s.recalled = true
	return s.send(h.from, Message{Kind: Recall, Token: h.token}, out)
}

func (s *State) connect(peer int, out []Effect) []Effect {
	if s.connected.Has(peer) { // the old connection was replaced
		out = s.disconnect(peer, out)
	}
	s.connected = s.connected.With(peer)
	if s.claims() {
		out = s.send(peer, Message{Kind: MyLock, Token: s.token, Seq: s.seq}, out)
	} else { // earlier requests of this peer no longer count
		out = s.send(peer, Message{Kind: LockReset, Used: true}, out)
	}
	return s.settle(out)
}

// disconnect leaves the vote with the peer: only the peer itself, or the Vote timer, frees it.
func (s *State) disconnect(peer int, out []Effect) []Effect {
	s.connected = s.connected.Without(peer)
	s.granted = s.granted.Without(peer)
	s.waiting.drop(peer)
	return s.settle(out)
}

func (s *State) myLock(out []Effect) []Effect {
	return peercore.SendTo(s.connected, Message{Kind: MyLock, Token: s.token, Seq: s.seq}, out)
}

func (s *State) send(to int, m Message, out []Effect) []Effect {
	return peercore.SendTo(peercore.SetOf(to), m, out)
}

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
	case s.votedFor(s.cfg.self) && s.phase == Soliciting && r.from < s.cfg.self:
		s.granted = s.granted.Without(s.cfg.self)
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
	default:
		return out
	}
}

// expireLease ends the hold, or repeats a soliciting round with a new token.
func (s *State) expireLease(out []Effect) []Effect {
	if s.phase == Soliciting {
		return s.settle(s.abandon(out))
	}
	out = append(out, Effect{Kind: peercore.Lose})
	out = s.end(true, out)
	s.phase = None
	return s.settle(out)
}

// renewIfDue asks for another lease once the renewal before has been granted. Only a majority of answers
// to the same renewal extends the lease, so answers name the renewal: those voters received it after it was sent.
func (s *State) renewIfDue(out []Effect) []Effect {
	if s.phase != Acquired || !s.due || s.renewing {
		return out
	}
	s.seq++
	s.due, s.renewing, s.granted = false, true, peercore.Set{}
	out = append(out, Effect{Kind: peercore.Start, Timer: peercore.Renew}) // the moment from which the lease counts
	out = s.myLock(out)
	if s.votedFor(s.cfg.self) {
		out = s.count(s.cfg.self, out)
	}
	return out
}
