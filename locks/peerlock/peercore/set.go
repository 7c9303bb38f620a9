package peercore

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
)

// MaxPeers is the largest number of peers: ranks are 0 to MaxPeers-1.
const MaxPeers = 64

// Set is a set of peers. The zero value is empty, and sets can be compared with ==.
type Set struct{ bits uint64 }

// SetOf returns the set of the ranks.
func SetOf(ranks ...int) (s Set) {
	for _, r := range ranks {
		s = s.With(r)
	}
	return s
}

// SetOfBits is the inverse of [Set.Bits].
func SetOfBits(bits uint64) Set { return Set{bits} }

// Others returns the ranks 0 to n-1 without self.
func Others(n, self int) (s Set) {
	for r := range n {
		s = s.With(r)
	}
	return s.Without(self)
}

// Bits returns the set as one bit for each member.
func (s Set) Bits() uint64 { return s.bits }

// Empty reports whether there is no member.
func (s Set) Empty() bool { return s.bits == 0 }

// Has reports whether the peer is in the set.
func (s Set) Has(rank int) bool { return s.bits&(1<<rank) != 0 }

// With returns the set with the peer.
func (s Set) With(rank int) Set { return Set{s.bits | 1<<rank} }

// Without returns the set without the peer.
func (s Set) Without(rank int) Set { return Set{s.bits &^ (1 << rank)} }

// Less returns the members of s that are not in t.
func (s Set) Less(t Set) Set { return Set{s.bits &^ t.bits} }

// Within reports whether every member is also in t.
func (s Set) Within(t Set) bool { return s.Less(t).Empty() }

// Len returns the number of members.
func (s Set) Len() int { return bits.OnesCount64(s.bits) }

// All yields the members, the highest-ranking (lowest number) first.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for rest := s.bits; rest != 0 && yield(bits.TrailingZeros64(rest)); rest &= rest - 1 {
		}
	}
}

// String lists the ranks, as in {0 2}.
func (s Set) String() string {
	return "{" + strings.Trim(fmt.Sprint(slices.Collect(s.All())), "[]") + "}"
}
