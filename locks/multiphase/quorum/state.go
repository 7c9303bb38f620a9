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
	seen      uint64 // the highest token received or made

	// The own claim.
	phase    Phase
	token    uint64       // of the round, while soliciting or acquired
	seq      uint64       // of its latest renewal
	granted  peercore.Set // peers that voted for it; once acquired, that answered the latest renewal
	renewing bool         // a majority has not answered the latest renewal yet
	due      bool         // Renew has expired: renew as soon as possible

	// The voter.
	vote     request // that has the vote; it outlives connections
	recalled bool    // the vote was recalled
	floor    uint64  // the highest token that may have been used with this peer's vote
	waiting  queue   // requests of connected peers, and perhaps the own
	disk     stored  // the data of the latest Store
}

// Reset makes s the state of an unwanted resource, with the connections of like; no token up
// to round can be used again. It reuses the memory of s.
func (s *State) Reset(like *State, round uint64) {
	waiting := s.waiting[:0]
	*s = State{
		cfg: like.cfg, connected: like.connected, waiting: waiting,
		seen: max(like.seen, round), floor: max(like.floor, round),
	}
	s.disk = stored{floor: s.floor, seen: s.seen}
}

// String returns the phase.
func (s *State) String() string { return s.phase.String() }

// Round returns the highest token seen. This peer used no higher one.
func (s *State) Round() uint64 { return s.seen }

// Waits reports whether the lock is wanted and not held.
func (s *State) Waits() bool { return s.phase == Lurking || s.phase == Soliciting }

// Holds reports whether the lock is held.
func (s *State) Holds() bool { return s.phase == Acquired }

// Bootstrapped returns true: the peer needs no connection first, since its votes are on disk.
func (*State) Bootstrapped() bool { return true }

// Idle reports whether the state holds no information but Round: the resource is not wanted.
func (s *State) Idle() bool { return s.phase == None && !s.voted() && len(s.waiting) == 0 }

// Code encodes or decodes the state. Two states of one peer with the same code behave alike.
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

// Running reports whether Expire of the timer would have an effect.
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

// Uses returns the token with which this peer holds or solicits; 0 if there is none.
func (s *State) Uses() uint64 {
	if s.claims() {
		return s.token
	}
	return 0
}

// Voted returns the token that has this peer's vote, perhaps its own; 0 if there is none.
func (s *State) Voted() uint64 { return s.vote.token }

func (s *State) claims() bool { return s.phase == Soliciting || s.phase == Acquired }

func (s *State) voted() bool { return s.vote.token != 0 }

func (s *State) votedFor(peer int) bool { return s.voted() && s.vote.from == peer }

// request is a request for the vote: it waits, or has the vote.
type request struct {
	from  int
	token uint64 // 0 if there is none
	seq   uint64
}

// queue holds waiting requests, one for each peer, the highest rank first.
type queue []request

// put adds r in place of an earlier request of its peer.
func (q *queue) put(r request) {
	at, found := slices.BinarySearchFunc(*q, r.from, func(w request, from int) int { return w.from - from })
	if found {
		(*q)[at] = r
		return
	}
	*q = slices.Insert(*q, at, r)
}

// drop removes the request of the peer.
func (q *queue) drop(from int) {
	*q = slices.DeleteFunc(*q, func(w request) bool { return w.from == from })
}

// pop removes the highest-ranking request. The queue must not be empty.
func (q *queue) pop() request {
	r := (*q)[0]
	*q = slices.Delete(*q, 0, 1)
	return r
}
