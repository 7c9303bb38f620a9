package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Trace is a way from the beginning to a state, one move after the other.
type Trace struct {
	Peers []string `json:"peers"` // in what state each is in the beginning
	Steps []Step   `json:"steps"`
}

// Step is one move of a trace, in words.
type Step struct {
	Kind MoveKind `json:"-"`
	Move string   `json:"move"` // the kind of the move
	Peer int      `json:"peer"`
	From int      `json:"from"` // the sender, or the other end of a link; -1 if there is none
	// SentAt is the step, from 1, in which a message that arrives was sent; 0 if the step is something
	// else.
	SentAt int      `json:"sent_at,omitempty"`
	Text   string   `json:"text"`  // the message, or what happened
	Peers  []string `json:"peers"` // in what state each is now
	Holds  []bool   `json:"holds"`
}

// trace is the way to the violation, in words. Rounds and timestamps are those that the peers would
// really use.
func (s *search[S, M, P]) trace(describe func(P) string) *Trace {
	var way []place
	for at := s.at; at != nowhere; at = place(binary.LittleEndian.Uint64(s.record(at))) {
		way = append(way, at)
	}
	slices.Reverse(way)
	plain := newWorld[S, M, P](s.all.Alg, s.scope, true)
	t := &Trace{Peers: plain.describe(describe)}
	mail := make([][]int, s.n*s.n) // in which step the messages on each wire were sent
	for k, at := range way[1:] {
		s.unpack(s.record(way[k])[recordHead:])
		m := s.moveTo(at)
		step := plain.take(m, describe)
		step.SentAt = plain.follow(mail, k+1, m, step.SentAt > 0)
		t.Steps = append(t.Steps, step)
	}
	return t
}

// moveTo finds the first move from base to a state.
func (s *search[S, M, P]) moveTo(to place) Move {
	for _, m := range s.moves(nil) {
		s.apply(m)
		s.pack(s.next)
		if at, _, known := s.find(); known && at == to {
			return m
		}
	}
	panic("explore: no move leads from one state of a trace to the next")
}

// follow notes in mail which messages a step sent, and says when the one that it delivered was sent, or
// 0. What was lost, was sent before the rest.
func (w *world[S, M, P]) follow(mail [][]int, number int, move Move, arrives bool) (sentAt int) {
	if arrives {
		wire := &mail[int(move.From)*w.n+int(move.Peer)]
		sentAt = (*wire)[move.Index]
		*wire = slices.Delete(*wire, int(move.Index), int(move.Index)+1)
	}
	for i := range mail {
		if i/w.n == i%w.n {
			continue
		}
		wire, count := w.base[w.wire(i/w.n, i%w.n)], 0
		for k := range wire.ends {
			if !isNews(wire.kindAt(k)) {
				count++
			}
		}
		mail[i] = mail[i][max(0, len(mail[i])-count):]
		for len(mail[i]) < count {
			mail[i] = append(mail[i], number)
		}
	}
	return sentAt
}

// describe is the states of all peers in words.
func (w *world[S, M, P]) describe(describe func(P) string) (words []string) {
	for i, p := range w.base[:w.n] {
		word := "NONE"
		switch {
		case describe != nil:
			word = describe(P(&w.load(p, &w.peers[i]).State))
		case p.holds:
			word = "HOLDS"
		case p.waits:
			word = "WAITS"
		}
		words = append(words, word)
	}
	return words
}

// take makes the move from base, makes its outcome the new base, and puts it in words. SentAt only says
// whether it delivers a message.
func (w *world[S, M, P]) take(m Move, describe func(P) string) Step {
	step := Step{Kind: m.Kind, Move: m.Kind.String(), Peer: int(m.Peer), From: -1, Text: w.textOf(m)}
	switch m.Kind {
	case Deliver:
		step.From = int(m.From)
		if !isNews(w.base[w.wire(step.From, step.Peer)].kindAt(int(m.Index))) {
			step.SentAt = 1
		}
	case Cut, Mend:
		step.From = int(m.From)
	default:
	}
	w.apply(m)
	copy(w.base, w.next)
	step.Peers = w.describe(describe)
	for _, p := range w.base[:w.n] {
		step.Holds = append(step.Holds, p.holds)
	}
	return step
}

// textOf says what a move from base is, without the peer that moves.
func (w *world[S, M, P]) textOf(m Move) string {
	if m.Kind == Deliver {
		item := w.base[w.wire(int(m.From), int(m.Peer))].item(int(m.Index))
		switch item[0] {
		case itemDown:
			return fmt.Sprintf("loses %d", m.From)
		case itemUp:
			return fmt.Sprintf("connects to %d", m.From)
		}
		message, _ := w.decode(item[1:])
		return fmt.Sprint(message)
	}
	return [...]string{
		Request: "requests", Release: "releases", GiveUp: "gives up", Wake: "ends its pause", Expire: m.Timer.String() + " over",
		Cut: "link breaks", Mend: "new connection", Crash: "crashes, memory lost", Forget: "forgets the resource",
	}[m.Kind]
}

// Walk follows one way through the states of a scope, move by move, for tests that go where no
// exploration fits. Rounds and timestamps are left as they are.
type Walk[S, M any, P peercore.Core[S, M]] struct{ w *world[S, M, P] }

// NewWalk is where an exploration of the scope would begin. effects, if not nil, is told of what every
// step asks for.
func NewWalk[S, M any, P peercore.Core[S, M]](
	alg peercore.Algorithm[S, M], sc Scope, effects func(peer int, e peercore.Effect[M]),
) *Walk[S, M, P] {
	w := newWorld[S, M, P](alg, sc, true)
	w.observe = effects
	return &Walk[S, M, P]{w}
}

// Moves is all that can happen next.
func (k *Walk[S, M, P]) Moves() []Move { return k.w.moves(nil) }

// Text is a move of Moves in words.
func (k *Walk[S, M, P]) Text(m Move) string {
	who := fmt.Sprint(m.Peer)
	switch m.Kind {
	case Deliver:
		who = fmt.Sprintf("%d <- %d", m.Peer, m.From)
	case Cut, Mend:
		who = fmt.Sprintf("%d-%d", m.Peer, m.From)
	default:
	}
	return who + ": " + k.w.textOf(m)
}

// Take makes one of Moves.
func (k *Walk[S, M, P]) Take(m Move) {
	k.w.apply(m)
	copy(k.w.base, k.w.next)
}

// Peer is the state of one peer, valid until the next call of any method.
func (k *Walk[S, M, P]) Peer(i int) P { return P(&k.w.load(k.w.base[i], &k.w.peers[i]).State) }

// Violation is what the state violates; "" if nothing.
func (k *Walk[S, M, P]) Violation() string { return k.w.violation(k.w.base) }

// Waits says that a peer waits.
func (k *Walk[S, M, P]) Waits() bool { return k.w.waiting(k.w.base) != 0 }

// Healed says that all are connected to all and know it.
func (k *Walk[S, M, P]) Healed() bool { return k.w.healed(k.w.base) }

// Idle says that no peer remembers anything.
func (k *Walk[S, M, P]) Idle() bool {
	return !slices.ContainsFunc(k.w.base[:k.w.n], func(p *part) bool { return !p.idle })
}
