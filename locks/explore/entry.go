package explore

import (
	"encoding/binary"
	"slices"
)

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
	wrongUntold
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
	holders, untold := 0, false
	for _, p := range w.next[:w.n] {
		untold = untold || p.untold
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
	case untold:
		return wrongUntold
	case w.next[w.restField()].back:
		return wrongToken
	}
	return 0
}

// violation is what wrong says, in words.
func violation(wrong byte) string {
	return [...]string{0: "", wrongTwoHold: TwoHold, wrongStarves: Starves, wrongToken: TokenBack, wrongUntold: Untold}[wrong]
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
