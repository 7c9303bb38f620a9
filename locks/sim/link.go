package sim

import "locklab/locks/peerlock/peercore"

// link is one direction of a connection, and the sender's end of it.
type link struct {
	arrives int64  // when the last message that was sent gets there
	slower  int64  // what faults add to the delay
	gen     uint32 // which connection this end belongs to
	made    uint32 // at the end that dials: the last connection
	stamp   uint32 // changes whenever the direction falls silent or speaks again
	blocked int16  // by so many faults
	up      bool   // this end stands
	silent  bool
	dialing bool // at the end that dials
}

// setLinks makes the connections, or lets the peers look for each other.
func (s *simulator[S, M, P]) setLinks() {
	n := s.n
	if cap(s.links) < n*n {
		s.links = make([]link, n*n)
	}
	s.links = s.links[:n*n]
	clear(s.links)
	for i := range n {
		for j := range n {
			l := &s.links[i*n+j]
			switch {
			case i == j:
			case s.cfg.Formed:
				l.up, l.gen, l.made = true, 1, 1
			default:
				l.silent = true
				if i < j {
					s.redial(i, j)
				}
			}
		}
	}
	if s.cfg.Formed {
		for i := range n {
			for j := range n {
				if i != j {
					s.step(i, peercore.Event[M]{Kind: peercore.Connect, Peer: j})
				}
			}
		}
		s.res.Messages = 0 // what is said on meeting is not the price of an acquisition
	}
}

// arrival is when what is sent now gets there: after the delay, after what holds the
// direction back, and after everything that was sent before.
func (s *simulator[S, M, P]) arrival(from, to int, l *link) int64 {
	path := s.peers[from].zone*s.zones + s.peers[to].zone
	r := s.network.Uint64()
	late := int64(r>>33) * s.spans[path] >> 31
	if r&127 == 0 {
		late *= 10
	}
	at := s.now
	if l.blocked > 0 {
		at = s.opens(from, to, at)
	}
	at = max(at+s.delays[path]+late+l.slower, l.arrives)
	l.arrives = at
	return at
}

// opens is when the direction carries bytes again.
func (s *simulator[S, M, P]) opens(from, to int, at int64) int64 {
	for again := true; again; {
		again = false
		for _, f := range s.cfg.Faults {
			until := int64(min(f.Until, s.cfg.Duration))
			if f.Kind == Partition && int64(f.From) <= at && at < until && f.hits(from, to) {
				at, again = until, true
			}
		}
	}
	return at
}

// transmit sends what is no message: the beginning and the end of a connection.
func (s *simulator[S, M, P]) transmit(what op, from, to int, gen uint32) {
	at := s.arrival(from, to, &s.links[from*s.n+to])
	s.push(at, slot[M]{op: what, from: int16(from), to: int16(to), gen: gen})
}

// touch looks whether a direction has fallen silent or speaks again. What is silent
// for too long is noticed at the other end.
func (s *simulator[S, M, P]) touch(from, to int) {
	l := &s.links[from*s.n+to]
	p := &s.peers[from]
	silent := !l.up || l.blocked > 0 || !p.alive || p.paused > 0
	if silent == l.silent {
		return
	}
	l.silent = silent
	l.stamp++
	if silent {
		s.expectSilence(from, to)
	}
}

// expectSilence arranges that the receiver notices. The last heartbeat was up to one
// gap between two of them ago.
func (s *simulator[S, M, P]) expectSilence(from, to int) {
	t := &s.cfg.Timing
	since := s.now - s.network.Int64N(int64(t.Heartbeat)) + s.delays[s.peers[from].zone*s.zones+s.peers[to].zone]
	s.push(max(s.now, since+int64(t.Silence)), slot[M]{
		op: opSilent, from: int16(from), to: int16(to), gen: s.links[from*s.n+to].stamp,
	})
}

// silence ends a connection that was silent for too long.
func (s *simulator[S, M, P]) silence(i, from int, stamp uint32) {
	in := &s.links[from*s.n+i]
	if !in.silent || in.stamp != stamp || !s.peers[i].alive || !s.links[i*s.n+from].up {
		return
	}
	s.close(i, from)
}

// close ends the connection at i's end and tells the other one.
func (s *simulator[S, M, P]) close(i, from int) {
	gen := s.links[i*s.n+from].gen
	s.drop(i, from)
	s.transmit(opBye, i, from, gen)
}

// drop is the end of the connection for i.
func (s *simulator[S, M, P]) drop(i, from int) {
	s.links[i*s.n+from].up = false
	s.touch(i, from)
	if s.trace != nil {
		s.trace.connection(s.now, i, from, "lost")
	}
	s.step(i, peercore.Event[M]{Kind: peercore.Disconnect, Peer: from})
	s.redial(min(i, from), max(i, from))
}

// bye is the end of a connection that the other side has closed.
func (s *simulator[S, M, P]) bye(i, from int, gen uint32) {
	l := &s.links[i*s.n+from]
	if s.peers[i].alive && l.up && l.gen == gen {
		s.drop(i, from)
	}
}

// refuse is what the kernel of a process that is gone answers.
func (s *simulator[S, M, P]) refuse(i, from int, gen uint32) { s.transmit(opBye, i, from, gen) }

// redial arranges that the lower of two ranks tries to connect.
func (s *simulator[S, M, P]) redial(low, high int) {
	l := &s.links[low*s.n+high]
	if l.dialing {
		return
	}
	l.dialing = true
	s.dialAfter(low, high, int64(s.cfg.Timing.BackoffMin))
}

// dialAfter tries again after about the given time. The longer the peers have been
// apart the longer the pause; at once it is only right after the loss.
func (s *simulator[S, M, P]) dialAfter(low, high int, pause int64) {
	s.push(s.now+pause/2+s.network.Int64N(pause), slot[M]{op: opDial, to: int16(low), from: int16(high)})
}

// dial connects if the way is open in both directions and both processes run.
func (s *simulator[S, M, P]) dial(low, high int) {
	out, in := &s.links[low*s.n+high], &s.links[high*s.n+low]
	a, b := &s.peers[low], &s.peers[high]
	switch {
	case !a.alive || out.up: // a new process dials anew; an end that stands does not
		out.dialing = false
	case a.paused > 0 || !b.alive || b.paused > 0 || out.blocked > 0 || in.blocked > 0:
		s.dialAfter(low, high, int64(s.cfg.Timing.BackoffMax))
	default:
		out.dialing = false
		out.made++
		s.hello(low, high, out.made)
	}
}

// hello is the handshake: two round trips until the dialing side is connected. Its
// first heartbeat then tells the other one.
func (s *simulator[S, M, P]) hello(low, high int, gen uint32) {
	there, back := s.peers[low].zone*s.zones+s.peers[high].zone, s.peers[high].zone*s.zones+s.peers[low].zone
	took := 2*(s.delays[there]+s.delays[back]) + s.links[low*s.n+high].slower + s.links[high*s.n+low].slower
	s.push(s.now+took, slot[M]{op: opGreet, to: int16(low), from: int16(high), gen: gen, epoch: s.peers[low].epoch, arg: int32(s.peers[high].epoch)})
}

// greeted is a new connection at i's end.
func (s *simulator[S, M, P]) greeted(i, from int, gen uint32) {
	l := &s.links[i*s.n+from]
	switch {
	case !s.peers[i].alive:
		if i > from {
			s.refuse(i, from, gen)
		}
		return
	case i < from && (gen != l.made || !s.peers[from].alive): // meanwhile something happened
		s.redial(i, from)
		return
	case i > from && gen <= l.gen: // a newer one stands
		return
	case l.up:
		s.drop(i, from) // it is replaced
	}
	l.up, l.gen = true, gen
	s.touch(i, from)
	if s.trace != nil {
		s.trace.connection(s.now, i, from, "made")
	}
	if i < from {
		s.transmit(opGreet, i, from, gen)
		if in := &s.links[from*s.n+i]; in.silent { // unless the other end hears of it
			in.stamp++
			s.expectSilence(from, i)
		}
	}
	s.step(i, peercore.Event[M]{Kind: peercore.Connect, Peer: from})
}

// forgetLinks ends all connections of a process that has died. Its kernel resets them.
func (s *simulator[S, M, P]) forgetLinks(i int) {
	for j := range s.n {
		if j == i {
			continue
		}
		l := &s.links[i*s.n+j]
		gen, was := l.gen, l.up
		l.up = false
		s.touch(i, j)
		if was {
			s.transmit(opBye, i, j, gen)
		}
	}
}

// lookForPeers has a process that was started again, and those that it is to be dialed
// by, try to connect.
func (s *simulator[S, M, P]) lookForPeers(i int) {
	for j := range s.n {
		if j != i {
			s.redial(min(i, j), max(i, j))
		}
	}
}
