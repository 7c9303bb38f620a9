package quorum

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// State is what one peer knows of one resource. A State is used by one goroutine
// at a time. A plain copy shares memory.
type State struct {
	cfg       *config
	connected peercore.Set
	seen      uint64 // the highest token that was heard of or made

	// The own claim.
	phase    Phase
	token    uint64       // of the round, while soliciting or acquired
	seq      uint64       // of its latest renewal
	granted  peercore.Set // voted for it; once acquired, have answered the latest renewal
	renewing bool         // the latest renewal has not been answered by a majority
	due      bool         // Renew is over: the next renewal is to come as soon as it can

	// The voter.
	vote     request // to which the vote is given; it outlives connections
	recalled bool    // it was asked for back
	floor    uint64  // no token above it was used by this peer's vote, as far as it knows
	waiting  queue   // requests of connected peers, and perhaps the own
	disk     stored  // what was kept last
}

// Reset makes s the state of an unwanted resource, with the connections
// of the state like; no token up to round can be used again. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	waiting := s.waiting[:0]
	*s = State{
		cfg: like.cfg, connected: like.connected, waiting: waiting,
		seen: max(like.seen, round), floor: max(like.floor, round),
	}
	s.disk = stored{floor: s.floor, seen: s.seen}
}

// String is how far this peer is with the resource.
func (s *State) String() string { return s.phase.String() }

// Round is the highest token that was heard of. No higher one was used here.
func (s *State) Round() uint64 { return s.seen }

// Waits says that the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Lurking || s.phase == Soliciting }

// Holds says that the lock is held.
func (s *State) Holds() bool { return s.phase == Acquired }

// Bootstrapped says that the peer takes part at once: what it must not forget is on its disk.
func (*State) Bootstrapped() bool { return true }

// Idle says that nothing but Round would be lost by forgetting the state: the resource is not wanted.
func (s *State) Idle() bool { return s.phase == None && !s.voted() && len(s.waiting) == 0 }

// Code goes through the state: two states of one peer behave alike if what is written of them is equal.
func (s *State) Code(c *peercore.Coder) {
	if c.Reads {
		*s = State{cfg: s.cfg, waiting: s.waiting[:0]}
	}
	voted := s.voted()
	c.Byte((*byte)(&s.phase))
	c.Bools(&s.renewing, &s.due, &s.recalled, &voted)
	c.Set(&s.connected)
	c.Number(&s.seen)
	c.Number(&s.floor)
	if s.claims() {
		c.Number(&s.token)
		c.Number(&s.seq)
		c.Set(&s.granted)
	}
	code := func(r *request) {
		c.Rank(&r.from)
		c.Number(&r.token)
		c.Number(&r.seq)
	}
	if voted {
		code(&s.vote)
	}
	peercore.List(c, (*[]request)(&s.waiting), code)
	s.disk.code(c)
}

// Running says whether Expire of the timer would do something.
func (s *State) Running(t peercore.Timer) bool {
	switch t {
	case peercore.Lease:
		return s.claims()
	case peercore.Renew:
		return s.claims() && !s.due
	case peercore.Vote:
		return s.voted() && s.vote.from != s.cfg.self
	default:
		return false
	}
}

// Uses is the token with which this peer holds the lock or may come to hold it by
// what it asked for; 0 if there is none.
func (s *State) Uses() uint64 {
	if s.claims() {
		return s.token
	}
	return 0
}

// Voted is the token to which this peer's vote is given, be it its own; 0 if there is
// none.
func (s *State) Voted() uint64 { return s.vote.token }

func (s *State) claims() bool { return s.phase == Soliciting || s.phase == Acquired }

func (s *State) voted() bool { return s.vote.token != 0 }

func (s *State) votedFor(peer int) bool { return s.voted() && s.vote.from == peer }

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
