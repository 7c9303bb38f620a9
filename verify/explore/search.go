package explore

import (
	"context"
	"slices"

	"locklab/locks/peerlock/peercore"
)

const (
	lookEvery = 1 << 12 // states that are expanded between two looks at the bounds
	// deepKept is how many levels a deep search goes before it keeps one, from which
	// traces can be found again.
	deepKept = 16
)

// Progress is what is known while an exploration goes on.
type Progress struct {
	States int64
	Depth  int
	Memory int64
	// Settling says that all states were seen and stuck ones are looked for.
	Settling bool
}

// search is a breadth-first search, from the state that is next of its world.
type search[S, M any, P peercore.Core[S, M]] struct {
	*world[S, M, P]
	checks   bool   // look for violations
	ends     bool   // at the first one
	target   []byte // packed: end there; nil does not
	progress func(Progress)

	states   store
	levels   []place // where the records of each level begin, and the end
	expanded int
	result   Result
	at       place // of the violation, or the target
}

func newSearch[S, M any, P peercore.Core[S, M]](w *world[S, M, P], deep bool, progress func(Progress)) *search[S, M, P] {
	return &search[S, M, P]{
		world: w, checks: true, ends: true, progress: progress,
		states: newStore(w.layout, deep), levels: []place{0},
	}
}

func (s *search[S, M, P]) run(ctx context.Context) {
	s.renumber()
	s.enter(nowhere)
	for s.result.Ended == 0 {
		number := len(s.levels) - 1
		from, to := s.levels[number], s.states.end()
		if from == to {
			s.result.Ended = Complete
			break
		}
		s.levels = append(s.levels, to)
		s.result.Depth = number
		s.expandLevel(ctx, from, to, !s.states.deep || number%deepKept == 0)
	}
	s.result.States = s.states.count
}

// level is the records of one level.
func (s *search[S, M, P]) level(number int) func(func(place, []byte) bool) {
	return s.states.records(s.levels[number], s.levels[number+1])
}

// expandLevel finds all that can come next to the states of a level.
func (s *search[S, M, P]) expandLevel(ctx context.Context, from, to place, keeps bool) {
	for at, record := range s.states.records(from, to) {
		parent := at
		if !keeps {
			parent = readPlace(record)
		}
		s.parts.unpack(record[recordHead:], s.base)
		s.list = s.moves(s.list[:0])
		s.result.Transitions += int64(len(s.list))
		if s.checks && s.ends && s.deadEnd() {
			s.violated(at, Stuck)
			return
		}
		for _, m := range s.list {
			s.apply(m)
			if s.enter(parent); s.result.Ended != 0 {
				return
			}
		}
		if s.expanded++; s.expanded%lookEvery == 1 {
			if s.look(ctx); s.result.Ended != 0 {
				return
			}
		}
	}
	if !keeps {
		s.states.drop(from, to)
	}
}

// enter enters next if it is new, and ends the search if it is what is looked for, or one
// state too many.
func (s *search[S, M, P]) enter(from place) {
	s.packed = pack(s.packed[:0], s.next)
	at, added := s.states.add(from, s.packed)
	if !added {
		return
	}
	if pending := s.waiting(s.next); s.checks && pending != 0 && s.mustGetOn(s.next) {
		s.states.record(at)[placeBytes] = pending
		s.result.StuckStates++
	}
	switch {
	case s.target != nil && string(s.packed) == string(s.target):
		s.violated(at, "")
	case s.checks && s.ends && s.violation(s.next) != "":
		s.violated(at, s.violation(s.next))
	case s.states.count >= s.scope.StatesMax:
		s.result.Ended = StatesBound
	}
}

func (s *search[S, M, P]) violated(at place, what string) {
	s.result.Ended, s.result.Violation, s.at = Violated, what, at
}

// deadEnd says that somebody waits in base and nothing that is bound to happen is left.
func (s *search[S, M, P]) deadEnd() bool {
	if !s.mustGetOn(s.base) || s.waiting(s.base) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.list, func(m Move) bool { return m.free(s.scope.Stuck == StuckAnywhere) })
}

// look tells how far the search is, and ends it at what the scope allows.
func (s *search[S, M, P]) look(ctx context.Context) {
	memory := s.memory()
	s.tell(Progress{States: s.states.count, Depth: s.result.Depth, Memory: memory})
	switch {
	case ctx.Err() != nil:
		s.result.Ended = Interrupted
	case s.states.full(), memory >= s.scope.MemoryMax:
		s.result.Ended = MemoryBound
	}
}

func (s *search[S, M, P]) tell(p Progress) {
	if s.progress != nil {
		s.progress(p)
	}
}

// memory is what all takes that grows with the states.
func (s *search[S, M, P]) memory() int64 { return s.parts.bytes + s.states.memory() }

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
	entry, known := s.states.find(s.states.hash(s.packed), s.packed)
	if !known {
		panic("explore: a state of a complete search leads to one that it has not seen")
	}
	return s.states.record(placeOf(*entry))
}
