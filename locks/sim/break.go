package sim

import "slices"

// begin lets a fault begin.
func (s *simulator[S, M, P]) begin(k int) {
	f := s.cfg.Faults[k]
	if s.trace != nil {
		s.trace.fault(s.now, f, "begins")
	}
	switch f.Kind {
	case Partition, Slow:
		s.each(f, 1)
	case Crash:
		for _, r := range f.A {
			if s.peers[r].alive {
				s.die(r)
			}
		}
	case Pause:
		for _, r := range f.A {
			s.peers[r].paused++
			s.touchAll(r)
		}
	case Drift: // see due
	}
}

// end heals it.
func (s *simulator[S, M, P]) end(k int) {
	f := s.cfg.Faults[k]
	if s.trace != nil {
		s.trace.fault(s.now, f, "ends")
	}
	switch f.Kind {
	case Partition, Slow:
		s.each(f, -1)
	case Crash:
		for _, r := range f.A {
			if !s.peers[r].alive && !s.crashed(r, k) {
				s.boot(r, true)
				s.touchAll(r)
				s.lookForPeers(r)
			}
		}
	case Pause:
		for _, r := range f.A {
			if s.peers[r].paused--; s.peers[r].paused == 0 {
				s.resume(r)
			}
		}
	case Drift:
	}
}

// crashed says whether a fault other than k keeps the peer down.
func (s *simulator[S, M, P]) crashed(r, k int) bool {
	for i, f := range s.cfg.Faults {
		until := int64(min(f.Until, s.cfg.Duration))
		if i != k && f.Kind == Crash && int64(f.From) <= s.now && s.now < until && slices.Contains(f.A, r) {
			return true
		}
	}
	return false
}

// each changes all directions that the fault hits.
func (s *simulator[S, M, P]) each(f Fault, by int16) {
	change := func(from, to int) {
		l := &s.links[from*s.n+to]
		if f.Kind == Slow {
			l.slower += int64(by) * int64(f.Delay)
			return
		}
		l.blocked += by
		s.touch(from, to)
	}
	for _, a := range f.A {
		for _, b := range f.B {
			change(a, b)
			if !f.OneWay {
				change(b, a)
			}
		}
	}
}

func (s *simulator[S, M, P]) touchAll(r int) {
	for j := range s.n {
		if j != r {
			s.touch(r, j)
		}
	}
}

// resume lets a stopped process go on: it reads all that has come meanwhile.
func (s *simulator[S, M, P]) resume(r int) {
	s.touchAll(r)
	p := &s.peers[r]
	if !p.alive {
		return
	}
	late := p.inbox
	p.inbox = p.inboxSpare[:0]
	for _, i := range late {
		if s.slots[i].op == opSilent { // it could not listen, so it gives them time
			sl := s.slots[i]
			s.free = append(s.free, i)
			s.push(s.now+int64(s.cfg.Timing.Silence), sl)
			continue
		}
		s.happen(i)
	}
	p.inboxSpare = late
}
