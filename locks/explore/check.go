package explore

// deadEnd says that somebody waits in base and nothing that is bound to happen is left.
func (w *worker[S, M, P]) deadEnd() bool {
	if !w.mustGetOn(w.base) || w.waiting(w.base) == 0 {
		return false
	}
	for _, m := range w.list {
		if m.free(w.scope.Stuck == StuckAnywhere) {
			return false
		}
	}
	return true
}

// mustGetOn says that nobody may be stuck in the state.
func (w *worker[S, M, P]) mustGetOn(state []*part) bool {
	switch w.scope.Stuck {
	case StuckAnywhere:
		return true
	case StuckHealed:
		return w.healed(state)
	default:
		return false
	}
}

// waiting is one bit for each peer that waits.
func (w *worker[S, M, P]) waiting(state []*part) byte {
	var b byte
	for i, p := range state[:w.n] {
		if p.waits {
			b |= 1 << i
		}
	}
	return b
}

// judge ends the search at the first violation of a batch, the nearest first.
func (s *search[S, M, P]) judge(violations []place, jobs int) {
	s.result.States, s.result.Transitions = 0, 0
	for _, shard := range s.shards {
		s.result.States += int64(shard.used)
	}
	for _, w := range s.workers {
		s.result.Transitions += w.transitions
	}
	if !s.ends {
		return
	}
	for _, p := range s.deads[:jobs] {
		if s.checks && p != nowhere {
			s.violated(p, Stuck)
			return
		}
	}
	for _, p := range violations {
		if p == nowhere {
			continue
		}
		w := s.workers[0]
		s.parts.unpack(s.record(p)[recordHead:], w.next)
		s.violated(p, violation(w.wrong()))
		return
	}
}

func (s *search[S, M, P]) violated(p place, what string) {
	s.result.Ended, s.result.Violation, s.at = Violated, what, p
}

func (s *search[S, M, P]) record(p place) []byte {
	return s.shards[p>>posBits].record(uint64(p) & posMask)
}
