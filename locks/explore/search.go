package explore

import (
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	batchSegments = 128 // expanded before what they gave is entered
	// deepKept is how many levels a deep search goes before it keeps one, from which
	// traces can be found again.
	deepKept    = 16
	garbageMost = 32 << 20
)

// Progress is what is known while an exploration goes on.
type Progress struct {
	States int64
	Depth  int
	Waits  int64 // states that are not expanded yet, as far as known
	Memory int64
	// Settling says that all states were seen and stuck ones are looked for.
	Settling bool
}

// search is a breadth-first search.
type search[S, M any, P Core[S, M]] struct {
	*system[S, M, P]
	deep     bool
	checks   bool   // look for violations
	ends     bool   // at the first one
	target   []byte // packed: end there; nil does not
	progress func(Progress)

	workers []*worker[S, M, P]
	shards  [shards]*shard
	levels  []level
	found   [][shards][]byte // by segment of the batch
	deads   []place          // dead ends, by segment of the batch
	result  Result
	at      place // of the violation, or the target
}

func newSearch[S, M any, P Core[S, M]](sys *system[S, M, P], deep bool, progress func(Progress)) *search[S, M, P] {
	s := &search[S, M, P]{
		system: sys, deep: deep, checks: true, ends: true, progress: progress,
		found: make([][shards][]byte, batchSegments), deads: make([]place, batchSegments),
	}
	workers := sys.scope.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range workers {
		s.workers = append(s.workers, sys.newWorker())
	}
	for i := range s.shards {
		s.shards[i] = &shard{deep: deep}
	}
	return s
}

// job is a segment to expand, and where it is.
type job struct {
	shard int
	segment
}

// run searches from the state that is next of the first worker.
func (s *search[S, M, P]) run(ctx context.Context) {
	s.begin()
	for s.result.Ended == 0 {
		if next := s.takeLevel(); next == 0 {
			s.result.Ended = Complete
			return
		}
		s.expandLevel(ctx, len(s.levels)-1)
		if s.result.Ended == 0 && s.deep && (len(s.levels)-1)%deepKept != 0 {
			for i, segments := range s.levels[len(s.levels)-1] {
				s.shards[i].drop(segments)
			}
			s.levels[len(s.levels)-1] = level{}
		}
	}
}

// begin enters the first state.
func (s *search[S, M, P]) begin() {
	w := s.workers[0]
	w.renumber()
	entry := w.entry(nil, nowhere, s)
	s.enter(shardOf(binary.LittleEndian.Uint64(entry)), entry)
}

// takeLevel makes what was found last a level and says how many segments it has.
func (s *search[S, M, P]) takeLevel() int {
	var l level
	segments := 0
	for i, shard := range s.shards {
		l[i] = shard.takeLevel()
		segments += len(l[i])
	}
	if segments > 0 {
		s.levels = append(s.levels, l)
		s.result.Depth = len(s.levels) - 1
	}
	return segments
}

// jobs are the segments of a level, in the order in which they count.
func (s *search[S, M, P]) jobs(number int) []job {
	var jobs []job
	for i, segments := range s.levels[number] {
		for _, g := range segments {
			jobs = append(jobs, job{i, g})
		}
	}
	return jobs
}

func (s *search[S, M, P]) expandLevel(ctx context.Context, number int) {
	keeps := !s.deep || number%deepKept == 0
	jobs := s.jobs(number)
	for begin := 0; begin < len(jobs); begin += batchSegments {
		batch := jobs[begin:min(begin+batchSegments, len(jobs))]
		s.parallel(len(batch), func(w *worker[S, M, P], i int) {
			s.deads[i] = nowhere
			s.expand(w, batch[i], keeps, i)
		})
		violations := [shards]place{}
		s.parallel(shards, func(_ *worker[S, M, P], i int) { violations[i] = s.merge(i, len(batch)) })
		s.judge(violations[:], len(batch))
		s.bound(ctx, int64(len(jobs)-begin-len(batch))*segmentMost)
		if s.result.Ended != 0 {
			return
		}
	}
}

// expand finds all that can come next to the states of a segment.
func (s *search[S, M, P]) expand(w *worker[S, M, P], j job, keeps bool, slot int) {
	found := &s.found[slot]
	block := s.shards[j.shard].blocks[j.block]
	for at := j.start; at < j.end; {
		record := block[at:]
		here := placeAt(j.shard, uint64(j.block)<<blockBits|uint64(at))
		from := here
		if !keeps {
			from = readPlace(record)
		}
		rest := s.parts.unpack(record[recordHead:], w.base)
		at += uint32(len(record) - len(rest))
		w.list = w.moves(w.list[:0])
		w.transitions += int64(len(w.list))
		if s.checks && s.deads[slot] == nowhere && w.deadEnd() {
			s.deads[slot] = here
		}
		for _, m := range w.list {
			w.apply(m)
			hash := hashOf(w.next)
			to := &found[shardOf(hash)]
			*to = w.entry(*to, from, s)
		}
	}
}

// bound ends the search at what the scope allows.
func (s *search[S, M, P]) bound(ctx context.Context, waits int64) {
	s.collect()
	s.result.Memory = s.memory()
	if s.progress != nil {
		s.progress(Progress{
			States: s.result.States, Depth: s.result.Depth, Waits: waits, Memory: s.result.Memory,
		})
	}
	full := slices.ContainsFunc(s.shards[:], (*shard).full)
	switch {
	case s.result.Ended != 0:
	case ctx.Err() != nil:
		s.result.Ended = Interrupted
	case s.result.States >= s.scope.StatesMax:
		s.result.Ended = StatesBound
	case full, s.result.Memory >= s.scope.MemoryMax:
		s.result.Ended = MemoryBound
	}
}

// memory is what all takes that grows with the states.
func (s *search[S, M, P]) memory() int64 {
	sum := s.parts.bytes.Load()
	for _, shard := range s.shards {
		sum += shard.memory()
	}
	for i := range s.found {
		for _, b := range s.found[i] {
			sum += int64(cap(b))
		}
	}
	return sum
}

// collect gives back the memory of tables that were replaced by larger ones, before it
// adds up.
func (s *search[S, M, P]) collect() {
	sum := int64(0)
	for _, shard := range s.shards {
		sum += shard.garbage
	}
	if sum > garbageMost {
		for _, shard := range s.shards {
			shard.garbage = 0
		}
		runtime.GC()
	}
}

// parallel does the tasks, each in one of the workers.
func (s *search[S, M, P]) parallel(tasks int, do func(w *worker[S, M, P], task int)) {
	if tasks == 1 || len(s.workers) == 1 {
		for i := range tasks {
			do(s.workers[0], i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for _, w := range s.workers[:min(tasks, len(s.workers))] {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= tasks {
					return
				}
				do(w, i)
			}
		})
	}
	all.Wait()
}
