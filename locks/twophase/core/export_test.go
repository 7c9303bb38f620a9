package core

import "iter"

// Reserved yields the round of the coordinator for which this peer is reserved, if
// it is, for mutants.
func (s *State) Reserved(coordinator int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if s.reserved.taken && s.reserved.by == coordinator {
			yield(s.reserved.round)
		}
	}
}
