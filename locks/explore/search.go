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
		system: sys, deep: deep, checks: true, progress: progress,
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
		if s.deep && (len(s.levels)-1)%deepKept != 0 {
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

// An entry is what a worker found on its way to a shard: the hash, where it came from,
// what it violates, who must get on, the length of the state, and the state.
const (
	entryFrom    = 8
	entryWrong   = entryFrom + placeBytes
	entryPending = entryWrong + 1
	entryLen     = entryPending + 1
	entryHead    = entryLen + 2
)

const (
	wrongTwoHold = 1 + iota
	wrongStarves
	wrongToken
)

// entry appends the state of next.
func (w *worker[S, M, P]) entry(b []byte, from place, s *search[S, M, P]) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, hashOf(w.next))
	b = binary.LittleEndian.AppendUint32(b, uint32(from))
	pending := byte(0)
	if s.checks && w.mustGetOn(w.next) {
		pending = w.waiting(w.next)
	}
	b = append(b, byte(from>>32), w.wrong(), pending, 0, 0)
	b = pack(b, w.next)
	binary.LittleEndian.PutUint16(b[at+entryLen:], uint16(len(b)-at-entryHead))
	return b
}

// wrong says what next violates; zero if nothing.
func (w *worker[S, M, P]) wrong() byte {
	holders := 0
	for _, p := range w.next[:w.n] {
		if p.holds {
			holders++
		}
		if w.scope.Bypass > 0 && int(p.bytes[peerPassed]) > w.scope.Bypass {
			return wrongStarves
		}
	}
	switch {
	case holders > 1:
		return wrongTwoHold
	case w.next[w.restField()].back:
		return wrongToken
	}
	return 0
}

// violation is what wrong says, in words.
func violation(wrong byte) string {
	return [...]string{0: "", wrongTwoHold: TwoHold, wrongStarves: Starves, wrongToken: TokenBack}[wrong]
}

// merge enters what a batch found into a shard and gives the first violation.
func (s *search[S, M, P]) merge(number, jobs int) (violation place) {
	violation = nowhere
	for i := range jobs {
		b := s.found[i][number]
		for len(b) > 0 {
			size := entryHead + int(binary.LittleEndian.Uint16(b[entryLen:]))
			if p := s.enter(number, b[:size]); p != nowhere && violation == nowhere {
				violation = p
			}
			b = b[size:]
		}
		s.found[i][number] = s.found[i][number][:0]
	}
	return violation
}

// enter enters a state if it is new and gives its place if it violates something, or
// is the target.
func (s *search[S, M, P]) enter(number int, entry []byte) place {
	shard := s.shards[number]
	shard.reserve(s.hashPacked)
	hash, packed := binary.LittleEndian.Uint64(entry), entry[entryHead:]
	_, slot, known := shard.find(hash, packed)
	if known {
		return nowhere
	}
	from := place(binary.LittleEndian.Uint32(entry[entryFrom:])) | place(entry[entryFrom+4])<<32
	pos := shard.add(hash, slot, from, entry[entryPending], packed)
	if entry[entryPending] != 0 {
		shard.pending++
	}
	if (s.checks && entry[entryWrong] != 0) || (s.target != nil && slices.Equal(packed, s.target)) {
		return placeAt(number, pos)
	}
	return nowhere
}

// hashPacked is the hash of a packed state.
func (s *search[S, M, P]) hashPacked(packed []byte) uint64 {
	var h uint64
	for field := range s.fields() {
		id := uint64(packed[0])
		if id < 0x80 {
			packed = packed[1:]
		} else {
			var n int
			id, n = binary.Uvarint(packed)
			packed = packed[n:]
		}
		h ^= s.parts.at(field, uint32(id)).hash
	}
	return h
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
