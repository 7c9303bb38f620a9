package explore

import (
	"context"
	"slices"
)

// findStuck looks, after a complete exact search, for the nearest state in which a
// peer waits from which no way of free moves leads to one in which it holds.
//
// Each record says who of those who wait is not known to get on. A free move to a
// state in which such a peer holds, or is known to get on, settles it. Nothing is kept
// but a bit for each peer and state: the moves are made once more, level by level
// backwards, until nothing changes any more.
func (s *search[S, M, P]) findStuck(ctx context.Context) {
	for changed := true; changed; {
		changed = false
		for number := range slices.Backward(s.levels[1:]) {
			for _, record := range s.level(number) {
				pending := &record[placeBytes]
				if *pending == 0 {
					continue
				}
				s.parts.unpack(record[recordHead:], s.base)
				if still := s.stillPending(*pending); still != *pending {
					*pending, changed = still, true
				}
			}
			if ctx.Err() != nil {
				s.result.Ended = Interrupted
				return
			}
			s.tell(Progress{States: s.result.States, Depth: s.result.Depth, Memory: s.memory(), Settling: true})
		}
	}
	s.result.StuckChecked = true
	for at, record := range s.states.records(0, s.states.end()) {
		if record[placeBytes] != 0 {
			s.violated(at, Stuck)
			return
		}
	}
}

// stillPending is who of pending gets on by none of the moves from base, as far as is
// known.
func (s *search[S, M, P]) stillPending(pending byte) byte {
	s.list = s.moves(s.list[:0])
	for _, m := range s.list {
		if !m.free(s.scope.Stuck == StuckAnywhere) {
			continue
		}
		s.apply(m)
		later := s.known()[placeBytes]
		for i, p := range s.next[:s.n] {
			if p.holds || (p.waits && later&(1<<i) == 0) {
				pending &^= 1 << i
			}
		}
		if pending == 0 {
			break
		}
	}
	return pending
}

// known is the record of next, which a complete search has seen.
func (s *search[S, M, P]) known() []byte {
	s.packed = pack(s.packed[:0], s.next)
	entry, known := s.states.find(hashOf(s.packed), s.packed)
	if !known {
		panic("explore: a state of a complete search leads to one that it has not seen")
	}
	return s.states.record(placeOf(*entry))
}
