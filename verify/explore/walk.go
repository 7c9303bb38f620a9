package explore

import (
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// textOf says what a move is, without the peer that moves.
func (w *world[S, M, P]) textOf(m Move) string {
	if m.Kind == Deliver {
		switch it := w.wire(int(m.From), int(m.Peer)).items[m.Index]; it.kind {
		case itemDown:
			return fmt.Sprintf("loses %d", m.From)
		case itemUp:
			return fmt.Sprintf("connects to %d", m.From)
		default:
			return fmt.Sprint(it.msg)
		}
	}
	return [...]string{
		Request: "requests", Release: "releases", GiveUp: "gives up",
		Wake: "ends its pause", Expire: m.Timer.String() + " over",
		Cut: "link breaks", Mend: "new connection", Crash: "crashes, memory lost",
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
	w := newWorld[S, M, P](alg, sc)
	w.observe, w.numbers = effects, nil
	return &Walk[S, M, P]{w}
}

// Moves is all that can happen next.
func (k *Walk[S, M, P]) Moves() []Move { return k.w.moves(nil) }

// Text is a move of Moves in words.
func (k *Walk[S, M, P]) Text(m Move) string {
	peer := fmt.Sprint(m.Peer)
	switch m.Kind { //nolint:exhaustive // the others concern one peer
	case Deliver:
		peer = fmt.Sprintf("%d <- %d", m.Peer, m.From)
	case Cut, Mend:
		peer = fmt.Sprintf("%d-%d", m.Peer, m.From)
	}
	return peer + ": " + k.w.textOf(m)
}

// Take makes one of Moves.
func (k *Walk[S, M, P]) Take(m Move) { k.w.apply(m) }

// Peer is the state of one peer, valid until the next move.
func (k *Walk[S, M, P]) Peer(i int) P { return P(&k.w.peers[i].State) }

// Violation is what the state violates; "" if nothing.
func (k *Walk[S, M, P]) Violation() string { return k.w.violation() }

// Waits says that a peer waits.
func (k *Walk[S, M, P]) Waits() bool {
	return slices.ContainsFunc(k.w.peers, func(p peer[S]) bool { return p.Waits() })
}

// Healed says that all are connected to all and know it.
func (k *Walk[S, M, P]) Healed() bool { return k.w.healed() }

// Idle says that no peer remembers anything.
func (k *Walk[S, M, P]) Idle() bool {
	for i := range k.w.peers {
		if !k.Peer(i).Idle() {
			return false
		}
	}
	return true
}
