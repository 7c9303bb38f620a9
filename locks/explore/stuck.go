package explore

import (
	"context"
	"encoding/binary"
	"slices"
)

// findStuck looks, after a complete exact search, for the nearest state in which a
// peer waits from which no way of free moves leads to one in which it holds.
//
// Each record says who of those who wait is not known to get on. A free move to a
// state in which such a peer holds, or is known to get on, settles it. Nothing is kept
// but a bit for each peer and state: the moves are made once more. Nearly all states
// are settled by runs; what they leave is swept until nothing changes any more.
func (s *search[S, M, P]) findStuck(ctx context.Context) {
	s.runs(ctx)
	for changed := true; changed; {
		changed = false
		for number := range slices.Backward(s.levels) {
			changed = s.sweepLevel(ctx, number) || changed
			if ctx.Err() != nil {
				s.result.Ended = Interrupted
				return
			}
			s.tellSettling()
		}
	}
	s.result.StuckChecked = true
	if p := s.firstPending(); p != nowhere {
		s.violated(p, Stuck)
	}
}

func (s *search[S, M, P]) tellSettling() {
	if s.progress != nil {
		s.progress(Progress{States: s.result.States, Depth: s.result.Depth, Memory: s.result.Memory, Settling: true})
	}
}

const (
	runMost     = 1 << 12 // moves
	runFailures = 1 << 10 // runs that may settle nothing
)

// hop is a state on a run, and who holds or waits after the next move of it.
type hop struct {
	record       []byte
	holds, waits byte
}

// runs takes, from every state that is not settled, any free moves until one is
// reached that is, and settles all on the way. Since nobody asks anew meanwhile, such a
// run ends sooner or later, unless the peers are in each other's way without end.
func (s *search[S, M, P]) runs(ctx context.Context) {
	w := s.workers[0]
	fields := s.fields()
	var run []hop
	failures := 0
	for number := range s.levels {
		for _, j := range s.jobs(number) {
			block := s.shards[j.shard].blocks[j.block]
			for at := j.start; at < j.end; {
				record := block[at:]
				if record[placeBytes] != 0 {
					if run = s.run1(w, record, run[:0]); settle(run) != 0 {
						failures++
					}
				}
				at += uint32(recordHead + packedLen(record[recordHead:], fields))
			}
			if ctx.Err() != nil || failures > runFailures {
				return
			}
			s.tellSettling()
		}
	}
}

// run1 is one run from the state of a record.
func (s *search[S, M, P]) run1(w *worker[S, M, P], record []byte, run []hop) []hop {
	for len(run) < runMost && record[placeBytes] != 0 {
		s.parts.unpack(record[recordHead:], w.base)
		w.list = w.moves(w.list[:0])
		free := w.list[:0]
		for _, m := range w.list {
			if m.free(s.scope.Stuck == StuckAnywhere) {
				free = append(free, m)
			}
		}
		if len(free) == 0 {
			break
		}
		// Any will do, but not always the same one.
		w.apply(free[int(hashOf(w.base)>>shardBits+uint64(len(run)))%len(free)])
		h := hop{record: record, waits: w.waiting(w.next)}
		for i, p := range w.next[:w.n] {
			if p.holds {
				h.holds |= 1 << i
			}
		}
		run = append(run, h)
		record = s.known(w)
	}
	return append(run, hop{record: record})
}

// settle goes a run backwards and says who in its first state is still not settled.
func settle(run []hop) byte {
	for i := len(run) - 2; i >= 0; i-- {
		h, later := run[i], run[i+1].record[placeBytes]
		h.record[placeBytes] &^= h.holds | h.waits&^later
	}
	return run[0].record[placeBytes]
}

// known is the record of next, which a complete search has seen.
func (s *search[S, M, P]) known(w *worker[S, M, P]) []byte {
	hash := hashOf(w.next)
	w.packed = pack(w.packed[:0], w.next)
	shard := s.shards[shardOf(hash)]
	pos, _, known := shard.find(hash, w.packed)
	if !known {
		panic("explore: a state of a complete search leads to one that it has not seen")
	}
	return shard.record(pos)
}

func (s *search[S, M, P]) sweepLevel(ctx context.Context, number int) (changed bool) {
	jobs := s.jobs(number)
	for begin := 0; begin < len(jobs) && ctx.Err() == nil; begin += batchSegments {
		batch := jobs[begin:min(begin+batchSegments, len(jobs))]
		s.parallel(len(batch), func(w *worker[S, M, P], i int) {
			s.found[i][0] = s.sweep(w, batch[i], s.found[i][0][:0])
		})
		for i, j := range batch { // only now, so that the order of the workers is all the same
			block := s.shards[j.shard].blocks[j.block]
			for b := s.found[i][0]; len(b) > 0; b = b[5:] {
				record := block[binary.LittleEndian.Uint32(b):]
				changed = changed || record[placeBytes] != b[4]
				record[placeBytes] = b[4]
			}
			s.found[i][0] = s.found[i][0][:0]
		}
	}
	return changed
}

// sweep looks at the records of a segment in which somebody is not known to get on,
// and appends the offset of each and who still is not.
func (s *search[S, M, P]) sweep(w *worker[S, M, P], j job, out []byte) []byte {
	fields := s.fields()
	block := s.shards[j.shard].blocks[j.block]
	for at := j.start; at < j.end; {
		record := block[at:]
		if pending := record[placeBytes]; pending != 0 {
			s.parts.unpack(record[recordHead:], w.base)
			out = binary.LittleEndian.AppendUint32(out, at)
			out = append(out, s.stillPending(w, pending))
		}
		at += uint32(recordHead + packedLen(record[recordHead:], fields))
	}
	return out
}

// stillPending is who of pending gets on by none of the moves from base, as far as is
// known.
func (s *search[S, M, P]) stillPending(w *worker[S, M, P], pending byte) byte {
	w.list = w.moves(w.list[:0])
	for _, m := range w.list {
		if !m.free(s.scope.Stuck == StuckAnywhere) {
			continue
		}
		w.apply(m)
		later := s.known(w)[placeBytes]
		for i, p := range w.next[:w.n] {
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

// firstPending is the nearest state in which somebody never gets on.
func (s *search[S, M, P]) firstPending() place {
	fields := s.fields()
	for number := range s.levels {
		for _, j := range s.jobs(number) {
			block := s.shards[j.shard].blocks[j.block]
			for at := j.start; at < j.end; {
				record := block[at:]
				if record[placeBytes] != 0 {
					return placeAt(j.shard, uint64(j.block)<<blockBits|uint64(at))
				}
				at += uint32(recordHead + packedLen(record[recordHead:], fields))
			}
		}
	}
	return nowhere
}
