package core

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// MaxPeers is how many peers a cluster can have: ranks are 0 to MaxPeers-1.
const MaxPeers = 64

// Set is a set of peers, one bit for each rank.
type Set uint64

// SetOf is the set of the ranks.
func SetOf(ranks ...int) Set {
	var s Set
	for _, r := range ranks {
		s = s.With(r)
	}
	return s
}

// Has says whether the peer is in the set.
func (s Set) Has(rank int) bool { return s&(1<<rank) != 0 }

// With is the set and the peer.
func (s Set) With(rank int) Set { return s | 1<<rank }

// Without is the set less the peer.
func (s Set) Without(rank int) Set { return s &^ (1 << rank) }

// Within says whether every member is in t too.
func (s Set) Within(t Set) bool { return s&^t == 0 }

// Len is the number of members.
func (s Set) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the members, the highest-ranking (lowest number) first.
func (s Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for rest := uint64(s); rest != 0; rest &= rest - 1 {
			if !yield(bits.TrailingZeros64(rest)) {
				return
			}
		}
	}
}

// String lists the ranks, as in {0 2}.
func (s Set) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for r := range s.All() {
		if b.Len() > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(r))
	}
	b.WriteByte('}')
	return b.String()
}
