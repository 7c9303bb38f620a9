package quorum

import "slices"

// request is a vote that is asked for and not given, or given and not yet over.
type request struct {
	from  int
	token uint64 // 0 if there is none
	seq   uint64
}

// queue is the waiting requests of different peers, by rank, the highest first.
type queue []request

// put adds r in place of what the same peer asked before.
func (q *queue) put(r request) {
	at, found := slices.BinarySearchFunc(*q, r.from, func(w request, from int) int { return w.from - from })
	if found {
		(*q)[at] = r
		return
	}
	*q = slices.Insert(*q, at, r)
}

// drop removes what the peer asked.
func (q *queue) drop(from int) {
	*q = slices.DeleteFunc(*q, func(w request) bool { return w.from == from })
}

// pop removes the highest-ranking request. There is one.
func (q *queue) pop() request {
	r := (*q)[0]
	*q = slices.Delete(*q, 0, 1)
	return r
}
