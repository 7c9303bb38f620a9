package explore

import (
	"context"
	"hash/maphash"
	"slices"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// Subject is an algorithm that can be explored.
type Subject struct {
	// Endless says that unlimited requests have finitely many states, at least as long as no client
	// gives up: rounds are numbered anew.
	Endless bool
	// Explore visits every state within the scope. When the context is cancelled it ends with what there is.
	Explore func(ctx context.Context, sc Scope) *Result
}

// Of makes an algorithm a subject.
func Of[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M]) Subject {
	return Subject{alg.Renumber != nil, func(ctx context.Context, sc Scope) *Result {
		s := newSearch(newWorld[S, M, P](alg, sc))
		s.run(ctx)
		if s.result.Ended == Complete && sc.Stuck != StuckUnchecked {
			s.findStuck(ctx)
		}
		r := s.result
		r.Spec, r.Scope, r.States = alg.Spec, sc, int64(len(s.seen))
		r.Durable, r.Timed = s.durable, s.timed
		if r.Ended == Violated {
			r.Trace = s.trace()
			r.Moves = len(r.Trace) - 2 // a head, and the beginning
		}
		return &r
	}}
}

// Ending is why an exploration ended.
type Ending uint8

// The endings.
const (
	Complete    Ending = iota + 1 // every state within the scope was seen
	Violated                      // a violation was found
	StatesBound                   // Scope.StatesMax was reached
	Interrupted                   // the context was cancelled
)

// Result is what an exploration found, and what it saw.
type Result struct {
	Spec  string
	Scope Scope
	Ended Ending

	States      int64
	Transitions int64
	Depth       int // the most moves that any state is away from the beginning

	Violation string   // "" if there is none
	Trace     []string // the shortest way to it, drawn
	Moves     int      // how many moves that has

	StuckChecked bool  // the check for stuck states ran to its end
	StuckStates  int64 // how many states it was about
	Timed        bool  // the core has leases
	Durable      bool  // a crash left what the core stores
}

// Explored says within which bounds.
func (r *Result) Explored() string {
	if r.Timed {
		return r.Scope.String() + ", " + r.Scope.leases()
	}
	return r.Scope.String()
}

// Modelled says what of the real thing a state of the exploration stands for.
func (r *Result) Modelled() []string {
	out := []string{"one resource; a client believes what it did and what it was told, and by that all is judged"}
	if !r.Scope.Reorder {
		out = append(out, "connections keep the order of messages; what is on its way when one is lost may be lost")
	}
	if r.Timed {
		out = append(out, "no clock: a timer goes off at any moment that the order of leases and votes allows")
	}
	switch {
	case r.Scope.Crashes == 0:
	case r.Durable:
		out = append(out, "a peer that crashes starts again with what it had stored; "+
			"every store comes before what follows from it")
	default:
		out = append(out, "a peer that crashes starts again and knows nothing")
	}
	return out
}

// search is a breadth-first search from the state of its world.
type search[S, M any, P peercore.Core[S, M]] struct {
	*world[S, M, P]
	goesOn bool // after violations, to see all there is

	seeds  [2]maphash.Seed
	known  map[[2]uint64]uint32 // the number of a state by its hash
	seen   []record             // by number, in the order in which states were seen
	level  [][]byte             // the states that are looked at, encoded
	next   [][]byte             // those that are first reached from them
	free   []uint32             // the states that free moves lead to, of each state with pending peers
	result Result
	at     uint32 // of the violation
	code   []byte
}

// record is what is kept of a state.
type record struct {
	from                  uint32 // the state that it was reached from first
	move                  Move   // by which
	waits, holds, pending byte   // peers, one bit for each; pending are not known to get on yet
	free                  uint32 // where its part of free begins
}

func newSearch[S, M any, P peercore.Core[S, M]](w *world[S, M, P]) *search[S, M, P] {
	seeds := [...]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	return &search[S, M, P]{world: w, seeds: seeds, known: map[[2]uint64]uint32{}}
}

// run sees all states. A violation, or a bound, ends it.
func (s *search[S, M, P]) run(ctx context.Context) {
	const lookEvery = 1 << 12 // states that are expanded between two looks at the context
	s.enter(record{})
	var list []Move
	for at := uint32(0); s.result.Ended == 0; s.result.Depth++ {
		if s.level, s.next = s.next, s.level[:0]; len(s.level) == 0 {
			s.result.Ended, s.result.Depth = Complete, s.result.Depth-1
			return
		}
		for _, code := range s.level {
			s.decode(code)
			list = s.moves(list[:0])
			s.result.Transitions += int64(len(list))
			s.seen[at].free = uint32(len(s.free))
			pending := s.seen[at].pending != 0
			if pending && !slices.ContainsFunc(list, s.isFree) {
				s.violated(at, Stuck)
			}
			for k, m := range list {
				if s.result.Ended != 0 {
					return
				} else if k > 0 {
					s.decode(code)
				}
				s.apply(m)
				if to := s.enter(record{from: at, move: m}); pending && s.isFree(m) {
					s.free = append(s.free, to)
				}
			}
			if at%lookEvery == 0 && s.result.Ended == 0 && ctx.Err() != nil {
				s.result.Ended = Interrupted
			}
			if at++; s.result.Ended != 0 {
				return
			}
		}
	}
}

// enter notes the state if it is new, and gives its number. It ends the search if the state violates
// something, or is one too many.
func (s *search[S, M, P]) enter(r record) uint32 {
	s.code = s.encode(s.code[:0])
	key := [...]uint64{maphash.Bytes(s.seeds[0], s.code), maphash.Bytes(s.seeds[1], s.code)}
	if at, known := s.known[key]; known {
		return at
	}
	at := uint32(len(s.seen))
	r.waits, r.holds, r.pending = s.which((*peers.Peer[S]).Waits), s.which((*peers.Peer[S]).Holds), s.mustGetOn()
	s.known[key], s.seen, s.next = at, append(s.seen, r), append(s.next, slices.Clone(s.code))
	if r.pending != 0 {
		s.result.StuckStates++
	}
	if v := s.violation(); v != "" {
		s.violated(at, v)
	} else if bound := s.scope.StatesMax; bound > 0 && int64(len(s.seen)) >= bound {
		s.result.Ended = StatesBound
	}
	return at
}

func (s *search[S, M, P]) violated(at uint32, what string) {
	if !s.goesOn {
		s.result.Ended, s.result.Violation, s.at = Violated, what, at
	}
}

// isFree says that the move needs no wish and no fault: it is bound to happen in the end. Links that come
// back count where all peers must get on.
func (s *search[S, M, P]) isFree(m Move) bool {
	switch m.Kind {
	case Release, Wake, Expire, Deliver:
		return true
	case Mend:
		return s.scope.Stuck == StuckAnywhere
	default:
		return false
	}
}

// findStuck looks, after a complete search, for the nearest state in which a peer waits from which no
// way of free moves leads to one in which it holds. A free move to a state in which a pending peer holds, or
// waits and is known to get on, settles it. States are looked at backwards until nothing changes any more.
func (s *search[S, M, P]) findStuck(ctx context.Context) {
	for changed := true; changed; {
		changed = false
		end := len(s.free)
		for at := len(s.seen) - 1; at >= 0; at-- {
			r := &s.seen[at]
			before := r.pending
			for _, to := range s.free[r.free:end] {
				later := &s.seen[to]
				r.pending &^= later.holds | later.waits&^later.pending
			}
			changed, end = changed || r.pending != before, int(r.free)
		}
		if ctx.Err() != nil {
			s.result.Ended = Interrupted
			return
		}
	}
	s.result.StuckChecked = true
	if at := slices.IndexFunc(s.seen, func(r record) bool { return r.pending != 0 }); at >= 0 {
		s.violated(uint32(at), Stuck)
	}
}
