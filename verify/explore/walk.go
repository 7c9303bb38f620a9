package explore

import (
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Walk follows one way through the states of a scope, move by move, for tests that go
// where no exploration fits. Rounds and timestamps are left as they are.
type Walk[S, M any, P peercore.Core[S, M]] struct {
	w *world[S, M, P]
	// Effects, if not nil, is told of what every step asks for.
	Effects func(peer int, e peercore.Effect[M])
}

// NewWalk is where an exploration of the scope would begin.
func NewWalk[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], sc Scope) (*Walk[S, M, P], error) {
	sc, err := sc.withDefaults()
	if err != nil {
		return nil, err
	}
	walk := &Walk[S, M, P]{w: newWorld[S, M, P](alg, sc)}
	walk.w.plain = true
	walk.w.first()
	copy(walk.w.base, walk.w.next)
	walk.w.observe = func(peer int, e peercore.Effect[M]) {
		if walk.Effects != nil {
			walk.Effects(peer, e)
		}
	}
	return walk, nil
}

// Moves is all that can happen next.
func (k *Walk[S, M, P]) Moves() []Move { return k.w.moves(nil) }

// Text is a move of Moves in words.
func (k *Walk[S, M, P]) Text(m Move) string {
	switch m.Kind {
	case Deliver:
		return fmt.Sprintf("%d <- %d: %s", m.Peer, m.From, k.w.textOf(m))
	case Cut, Mend:
		return fmt.Sprintf("%d-%d: %s", m.Peer, m.From, k.w.textOf(m))
	default:
	}
	return fmt.Sprintf("%d: %s", m.Peer, k.w.textOf(m))
}

// Take makes one of Moves.
func (k *Walk[S, M, P]) Take(m Move) {
	k.w.apply(m)
	copy(k.w.base, k.w.next)
}

// Peer is the state of one peer, valid until the next call of any method.
func (k *Walk[S, M, P]) Peer(i int) P {
	return P(&k.w.load(k.w.base[i], &k.w.peers[i]).State)
}

// Violation is what the state violates; "" if nothing.
func (k *Walk[S, M, P]) Violation() string { return k.w.violation(k.w.base) }

// Waits says that somebody waits.
func (k *Walk[S, M, P]) Waits() bool { return k.w.waiting(k.w.base) != 0 }

// Healed says that everybody is connected to everybody and knows it.
func (k *Walk[S, M, P]) Healed() bool { return k.w.healed(k.w.base) }

// Idle says that no peer remembers anything.
func (k *Walk[S, M, P]) Idle() bool {
	return !slices.ContainsFunc(k.w.base[:k.w.n], func(p *part) bool { return !p.idle })
}
