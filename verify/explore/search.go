package explore

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Progress is what is known while an exploration goes on.
type Progress struct {
	States   int64
	Depth    int
	Settling bool // all states were seen, and stuck ones are looked for
}

// Subject is an algorithm that can be explored.
type Subject struct {
	// Endless says that unlimited requests have finitely many states, at least as long as no client
	// gives up: rounds are numbered anew.
	Endless bool
	// Explore visits every state within the scope. progress, which may be nil, is told how far it is,
	// often. When the context is cancelled it ends with what there is.
	Explore func(ctx context.Context, sc Scope, progress func(Progress)) *Result
}

// Of makes an algorithm a subject. describe names a peer's state in traces; without it they say whether
// the peer waits or holds.
func Of[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], describe func(P) string) Subject {
	sample := alg.New(0, peercore.Others(2, 0), false)
	_, numbered := any(P(&sample)).(peercore.Numbered)
	return Subject{numbered && alg.Renumber != nil, func(ctx context.Context, sc Scope, progress func(Progress)) *Result {
		s := newSearch(newWorld[S, M, P](alg, sc, false), progress)
		s.run(ctx)
		if s.result.Ended == Complete && sc.Stuck != StuckUnchecked {
			s.findStuck(ctx)
		}
		r := s.result
		r.Spec, r.Scope, r.States = alg.Spec, sc, int64(len(s.states))
		r.Shortened, r.Controls, r.Durable, r.Timed = s.shortened, s.hasControls, s.durable, s.timed
		if r.Ended == Violated {
			r.Trace = s.trace(describe)
		}
		return &r
	}}
}

// place is where a record is: the number of its block, then the offset in it.
type place uint64

const (
	blockBits = 18
	blockSize = 1 << blockBits
	nowhere   = ^place(0)

	// A record is the place that it came from, the peers that are not known to get on yet, one bit for
	// each, and the packed state.
	recordPending = 8
	recordHead    = recordPending + 1

	lookEvery = 1 << 12 // states that are expanded between two looks at the bounds
)

// search is a breadth-first search, from the state that is next of its world.
type search[S, M any, P peercore.Core[S, M]] struct {
	*world[S, M, P]
	progress func(Progress)
	goesOn   bool // after violations, to see all there is

	seed   maphash.Seed
	states map[uint64]place // by a hash of the state, or the next number that is free
	blocks [][]byte         // of records, in the order in which states were seen
	levels []place          // where the records of each level begin
	result Result
	at     place // of the violation
	packed []byte
}

func newSearch[S, M any, P peercore.Core[S, M]](w *world[S, M, P], progress func(Progress)) *search[S, M, P] {
	if progress == nil {
		progress = func(Progress) {}
	}
	return &search[S, M, P]{
		world: w, progress: progress, seed: maphash.MakeSeed(), states: map[uint64]place{},
		blocks: [][]byte{make([]byte, 0, blockSize)},
	}
}

// pack makes packed a state, as the identities of its parts.
func (s *search[S, M, P]) pack(state []*part) {
	s.packed = s.packed[:0]
	for _, p := range state {
		s.packed = binary.AppendUvarint(s.packed, uint64(p.id))
	}
}

// unpack makes base the state at the front of b and says how long it is there.
func (s *search[S, M, P]) unpack(b []byte) (length int) {
	for field := range s.base {
		id, n := uint64(b[length]), 1
		if id >= 0x80 {
			id, n = binary.Uvarint(b[length:])
		}
		s.base[field] = s.lists[field][id]
		length += n
	}
	return length
}

// record is the bytes from a place to the end of what its block has.
func (s *search[S, M, P]) record(at place) []byte { return s.blocks[at>>blockBits][at%blockSize:] }

// find looks for the packed state; otherwise it belongs to key.
func (s *search[S, M, P]) find() (at place, key uint64, known bool) {
	for key = maphash.Bytes(s.seed, s.packed); ; key++ {
		at, known = s.states[key]
		if !known || bytes.HasPrefix(s.record(at)[recordHead:], s.packed) {
			return at, key, known
		}
	}
}

// end is the place of what comes next.
func (s *search[S, M, P]) end() place {
	last := len(s.blocks) - 1
	return place(last<<blockBits + len(s.blocks[last]))
}

// records are those between two places, each unpacked into base. More may be added behind them.
func (s *search[S, M, P]) records(from, to place) iter.Seq2[place, []byte] {
	return func(yield func(place, []byte) bool) {
		for at := from; at < to; {
			if int(at%blockSize) == len(s.blocks[at>>blockBits]) {
				at = (at>>blockBits + 1) << blockBits
				continue
			}
			record := s.record(at)
			length := recordHead + s.unpack(record[recordHead:])
			if !yield(at, record) {
				return
			}
			at += place(length)
		}
	}
}

// run sees all states. A violation, or a bound, ends it.
func (s *search[S, M, P]) run(ctx context.Context) {
	s.enter(nowhere)
	from, expanded := place(0), 0
	for s.result.Ended == 0 {
		to := s.end()
		if from == to {
			s.result.Ended = Complete
			return
		}
		s.result.Depth = len(s.levels)
		s.levels = append(s.levels, from)
		for at := range s.records(from, to) {
			s.list = s.moves(s.list[:0])
			s.result.Transitions += int64(len(s.list))
			if s.mustGetOn(s.base) != 0 && !slices.ContainsFunc(s.list, s.free) {
				s.violated(at, Stuck)
			}
			for _, m := range s.list {
				if s.result.Ended == 0 {
					s.apply(m)
					s.enter(at)
				}
			}
			if expanded++; expanded%lookEvery == 1 {
				s.look(ctx)
			}
			if s.result.Ended != 0 {
				return
			}
		}
		from = to
	}
}

// enter enters next if it is new, and ends the search if it violates something, or is one too many.
func (s *search[S, M, P]) enter(from place) {
	s.pack(s.next)
	_, key, known := s.find()
	if known {
		return
	}
	last := len(s.blocks) - 1
	if len(s.blocks[last])+recordHead+len(s.packed) > blockSize {
		s.blocks = append(s.blocks, make([]byte, 0, blockSize))
		last++
	}
	at, pending := s.end(), s.mustGetOn(s.next)
	b := binary.LittleEndian.AppendUint64(s.blocks[last], uint64(from))
	s.blocks[last] = append(append(b, pending), s.packed...)
	s.states[key] = at
	if pending != 0 {
		s.result.StuckStates++
	}
	if v := s.violation(s.next); v != "" {
		s.violated(at, v)
	} else if bound := s.scope.StatesMax; bound > 0 && int64(len(s.states)) >= bound {
		s.result.Ended = StatesBound
	}
}

func (s *search[S, M, P]) violated(at place, what string) {
	if !s.goesOn {
		s.result.Ended, s.result.Violation, s.at = Violated, what, at
	}
}

// look tells how far the search is, and ends it with its context.
func (s *search[S, M, P]) look(ctx context.Context) {
	s.progress(Progress{States: int64(len(s.states)), Depth: s.result.Depth})
	if s.result.Ended == 0 && ctx.Err() != nil {
		s.result.Ended = Interrupted
	}
}

// free says that the move needs no wish and no fault: it is bound to happen in the end. Links that come
// back count where all peers must get on.
func (s *search[S, M, P]) free(m Move) bool {
	switch m.Kind {
	case Release, Wake, Expire, Deliver:
		return true
	case Mend:
		return s.scope.Stuck == StuckAnywhere
	default:
		return false
	}
}

// findStuck looks, after a complete search, for the nearest state in which a peer waits from which no
// way of free moves leads to one in which it holds.
//
// Each record says which of those that wait are not known to get on. A free move to a state in which
// such a peer holds, or is known to get on, settles it. Nothing is kept but a bit for each peer and
// state: the moves are made once more, level by level backwards, until nothing changes any more.
func (s *search[S, M, P]) findStuck(ctx context.Context) {
	for changed := true; changed; {
		changed = false
		to := s.end()
		for _, from := range slices.Backward(s.levels) {
			for _, record := range s.records(from, to) {
				if pending := record[recordPending]; pending != 0 {
					record[recordPending] = s.stillPending(pending)
					changed = changed || record[recordPending] != pending
				}
			}
			to = from
			if ctx.Err() != nil {
				s.result.Ended = Interrupted
				return
			}
			s.progress(Progress{States: int64(len(s.states)), Depth: s.result.Depth, Settling: true})
		}
	}
	s.result.StuckChecked = true
	for at, record := range s.records(0, s.end()) {
		if record[recordPending] != 0 {
			s.violated(at, Stuck)
			return
		}
	}
}

// stillPending is which of pending get on by none of the moves from base, as far as is known.
func (s *search[S, M, P]) stillPending(pending byte) byte {
	s.list = s.moves(s.list[:0])
	for _, m := range s.list {
		if !s.free(m) {
			continue
		}
		s.apply(m)
		s.pack(s.next)
		at, _, known := s.find()
		if !known {
			panic("explore: a state of a complete search leads to one that it has not seen")
		}
		later := s.record(at)[recordPending]
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
