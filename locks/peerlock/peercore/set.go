package peercore

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// MaxPeers is how many peers a core can have: ranks are 0 to MaxPeers-1. The mesh
// allows fewer; so many are for simulations.
const MaxPeers = 1024

// Set is a set of peers. The zero value is empty, and sets can be compared with ==. Ranks below 64
// are kept in one word; greater ones cost an allocation at every change.
type Set struct {
	low  uint64
	high string // from rank 64 on, one bit for each; no byte 0 at its end
}

const lowRanks, byteBits = 64, 8

// SetOf is the set of the ranks.
func SetOf(ranks ...int) (s Set) {
	for _, r := range ranks {
		s = s.With(r)
	}
	return s
}

// SetOfBits is the set that [Set.Low] gives the bits of.
func SetOfBits(bits uint64) Set { return Set{low: bits} }

// Others is the set of the ranks 0 to n-1 without self.
func Others(n, self int) (s Set) {
	for r := range n {
		s = s.With(r)
	}
	return s.Without(self)
}

// Low is the members below 64, one bit for each.
func (s Set) Low() uint64 { return s.low }

// Empty says that there is no member.
func (s Set) Empty() bool { return s == Set{} }

// Has says whether the peer is in the set.
func (s Set) Has(rank int) bool {
	if rank < lowRanks {
		return s.low&(1<<rank) != 0
	}
	at := rank - lowRanks
	return at/byteBits < len(s.high) && s.high[at/byteBits]&(1<<(at%byteBits)) != 0
}

// With is the set and the peer.
func (s Set) With(rank int) Set {
	if rank < lowRanks {
		s.low |= 1 << rank
	} else if !s.Has(rank) {
		s.flip(rank - lowRanks)
	}
	return s
}

// Without is the set less the peer.
func (s Set) Without(rank int) Set {
	if rank < lowRanks {
		s.low &^= 1 << rank
	} else if s.Has(rank) {
		s.flip(rank - lowRanks)
	}
	return s
}

func (s *Set) flip(at int) {
	b := make([]byte, max(len(s.high), at/byteBits+1))
	copy(b, s.high)
	b[at/byteBits] ^= 1 << (at % byteBits)
	s.setHigh(b)
}

func (s *Set) setHigh(b []byte) { s.high = strings.TrimRight(string(b), "\x00") }

// Less is the set of those in s that are not in t.
func (s Set) Less(t Set) Set {
	s.low &^= t.low
	if s.high != "" && t.high != "" {
		b := []byte(s.high)
		for i := range min(len(b), len(t.high)) {
			b[i] &^= t.high[i]
		}
		s.setHigh(b)
	}
	return s
}

// Within says whether every member is in t too.
func (s Set) Within(t Set) bool { return s.low&^t.low == 0 && s.Less(t).Empty() }

// Len is the number of members.
func (s Set) Len() int {
	n := bits.OnesCount64(s.low)
	for i := range len(s.high) {
		n += bits.OnesCount8(s.high[i])
	}
	return n
}

// All yields the members, the highest-ranking (lowest number) first.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for rest := s.low; rest != 0; rest &= rest - 1 {
			if !yield(bits.TrailingZeros64(rest)) {
				return
			}
		}
		for i := range len(s.high) {
			for rest := s.high[i]; rest != 0; rest &= rest - 1 {
				if !yield(lowRanks + i*byteBits + bits.TrailingZeros8(rest)) {
					return
				}
			}
		}
	}
}

// String lists the ranks, as in {0 2}.
func (s Set) String() string {
	return "{" + strings.Trim(fmt.Sprint(slices.Collect(s.All())), "[]") + "}"
}
