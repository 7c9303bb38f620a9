package peercore

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

const (
	wordBits = 64
	moreBits = MaxPeers - wordBits
)

// MaxPeers is how many peers a core can have: ranks are 0 to MaxPeers-1. The mesh
// allows fewer; so many are for simulations.
const MaxPeers = 1024

// Set is a set of peers. The zero value is empty. Ranks below 64 are kept in one
// word; greater ones cost an allocation at every change. Compare sets with
// [Set.Equal]: == is not defined for sets of more than 64 ranks.
type Set struct {
	low  uint64
	more *more // nil if it would be empty; never changed once it is in a Set
}

type more [moreBits / wordBits]uint64

// SetOf is the set of the ranks.
func SetOf(ranks ...int) Set {
	var s Set
	for _, r := range ranks {
		s = s.With(r)
	}
	return s
}

// SetOfBits is the set that [Set.Low] gives the bits of.
func SetOfBits(bits uint64) Set { return Set{low: bits} }

// Others is the set of the ranks 0 to n-1 without self.
func Others(n, self int) Set {
	var m more
	s := Set{low: 1<<min(n, wordBits) - 1}
	if n > wordBits {
		for r := wordBits; r < n; r++ {
			m[r/wordBits-1] |= 1 << (r % wordBits)
		}
		s.more = &m
	}
	return s.Without(self)
}

// Low is the members below 64, one bit for each.
func (s Set) Low() uint64 { return s.low }

// Empty says that there is no member.
func (s Set) Empty() bool { return s.low == 0 && s.more == nil }

// Has says whether the peer is in the set.
func (s Set) Has(rank int) bool { return s.word(rank/wordBits)&(1<<(rank%wordBits)) != 0 }

// word is 64 ranks of the set: those from 64i on.
func (s Set) word(i int) uint64 {
	switch {
	case i == 0:
		return s.low
	case s.more == nil:
		return 0
	}
	return s.more[i-1]
}

// words is how many of them there may be members in.
func (s Set) words() int {
	if s.more == nil {
		return 1
	}
	return 1 + len(s.more)
}

// With is the set and the peer.
func (s Set) With(rank int) Set {
	if rank < wordBits {
		return Set{s.low | 1<<rank, s.more}
	}
	return s.change(rank, true)
}

// Without is the set less the peer.
func (s Set) Without(rank int) Set {
	if rank < wordBits {
		return Set{s.low &^ (1 << rank), s.more}
	}
	return s.change(rank, false)
}

// change is the set with a great rank in it, or without.
func (s Set) change(rank int, in bool) Set {
	if s.Has(rank) == in {
		return s
	}
	var m more
	if s.more != nil {
		m = *s.more
	}
	m[rank/wordBits-1] ^= 1 << (rank % wordBits)
	return Set{s.low, m.orNil()}
}

func (m *more) orNil() *more {
	if *m == (more{}) {
		return nil
	}
	return m
}

// Less is the set of those in s that are not in t.
func (s Set) Less(t Set) Set {
	out := Set{low: s.low &^ t.low}
	if s.more != nil {
		var m more
		for i := range m {
			m[i] = s.more[i] &^ t.word(i+1)
		}
		out.more = m.orNil()
	}
	return out
}

// Equal says whether both have the same members.
func (s Set) Equal(t Set) bool {
	return s.low == t.low && (s.more == t.more || (s.more != nil && t.more != nil && *s.more == *t.more))
}

// Within says whether every member is in t too.
func (s Set) Within(t Set) bool {
	return s.low&^t.low == 0 && (s.more == nil || s.Less(t).more == nil)
}

// Len is the number of members.
func (s Set) Len() int {
	n := 0
	for i := range s.words() {
		n += bits.OnesCount64(s.word(i))
	}
	return n
}

// All yields the members, the highest-ranking (lowest number) first.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range s.words() {
			for rest := s.word(i); rest != 0; rest &= rest - 1 {
				if !yield(i*wordBits + bits.TrailingZeros64(rest)) {
					return
				}
			}
		}
	}
}

// Append appends the members to b, as an unsigned varint if all are below 64. Sets
// with greater ranks can't be appended; the mesh has none, nor has an exploration.
func (s Set) Append(b []byte) []byte {
	if s.more != nil {
		panic("peercore: a set with ranks above 63 has no encoding")
	}
	return binary.AppendUvarint(b, s.low)
}

// String lists the ranks, as in {0 2}.
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for _, r := range slices.Collect(s.All()) {
		if b.Len() > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(r))
	}
	b.WriteByte('}')
	return b.String()
}
