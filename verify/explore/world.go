package explore

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// world is the peers and all that is between them in one state, and what a move makes of it.
type world[S, M any, P peercore.Core[S, M]] struct {
	layout
	all      peers.Peers[S, M, P]
	scope    Scope
	numbered bool // rounds can be made small
	tokens   bool // holders have tokens that can be compared
	timed    bool
	durable  bool   // cores keep on disk what must outlive a crash, so they have nothing to recover
	gap      uint64 // the widest that is kept between two numbers

	restarts [][2][]byte // by peer: what it has when it starts again, without its disk; its control state

	// The parts that were seen, by field: those of the same bytes have one identity.
	known []map[string]*part
	lists [][]*part

	base []*part // the state that is looked at
	next []*part // what a move makes of it

	// Scratch. Cores keep their configuration.
	peers   []peers.Peer[S]
	probes  []peers.Peer[S]      // for what is interned
	effects []peercore.Effect[M] // of a control state
	held    bool                 // a client was told so in this step
	list    []Move
	buf     []byte
	numbers renumbering

	plain     bool // leave numbers as they are
	shortened bool // a gap between numbers was wider than is kept
	observe   func(peer int, e peercore.Effect[M])
}

func newWorld[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], sc Scope, plain bool) *world[S, M, P] {
	n := sc.Peers
	sample := alg.New(n-1, peercore.Others(n, n-1), false)
	durable := peercore.Stores[S, M, P](&sample)
	controls := alg.Control != nil && sc.Crashes > 0 && !durable
	w := &world[S, M, P]{layout: layout{n, controls}, scope: sc, durable: durable, plain: plain}
	w.all = peers.Peers[S, M, P]{Alg: alg, N: n, Controls: w.hasControls, Does: w.does}
	w.known, w.lists = make([]map[string]*part, w.fields()), make([][]*part, w.fields())
	for i := range w.known {
		w.known[i] = map[string]*part{}
	}
	w.base, w.next = make([]*part, w.fields()), make([]*part, w.fields())
	numbered, ok := any(P(&sample)).(peercore.Numbered)
	if w.numbered = ok && alg.Renumber != nil; w.numbered {
		w.gap = w.widestGap(numbered)
	}
	_, w.timed = any(P(&sample)).(peercore.Timed)
	w.tokens = w.timed && !w.numbered
	for i := range n {
		p := w.all.Start(i, !durable)
		again := [2][]byte{P(&p.State).AppendEncode(nil)}
		if w.hasControls {
			again[1] = P(&p.Control).AppendEncode(nil)
		}
		w.restarts = append(w.restarts, again)
		w.peers, w.probes = append(w.peers, w.all.Start(i, false)), append(w.probes, w.all.Start(i, false))
	}
	w.numbers = renumbering{make([][]uint64, n), make([][]uint64, n)}
	w.first()
	return w
}

// first makes next the state in which an exploration begins.
func (w *world[S, M, P]) first() {
	sc := &w.scope
	live := byte(1)
	if sc.Forming {
		live = 0
	}
	for i := range w.n {
		p := &w.peers[i]
		for j := range w.n {
			if j == i {
				continue
			}
			if live != 0 {
				met := peercore.Event[M]{Kind: peercore.Connect, Peer: j}
				w.effects = peercore.Run[S, M, P](&w.all.Alg, &p.State, met, w.effects[:0])
				if w.hasControls {
					w.effects = peercore.Run[S, M, P](&w.all.Alg, &p.Control, met, w.effects[:0])
				}
			}
			w.buf = append(w.buf[:0], live)
			w.keep(w.wire(i, j))
		}
		w.save(i, countByte(sc.requests(i)), 0)
		w.saveControl(i)
	}
	w.buf = append(w.buf[:0],
		countByte(sc.GiveUps), byte(sc.Cuts), countByte(sc.Mends), byte(sc.Crashes),
		countByte(sc.Expiries), countByte(sc.Renewals), countByte(sc.Forgets))
	if w.timed {
		w.buf = append(w.buf, make([]byte, w.n+1)...) // and that no token was given
	}
	w.keep(w.restField())
	w.renumber()
	copy(w.base, w.next)
}

// decode reads a message that the algorithm's own Append wrote.
func (w *world[S, M, P]) decode(b []byte) (m M, rest []byte) {
	m, rest, err := w.all.Alg.Decode(b)
	if err != nil {
		panic(fmt.Sprintf("explore: %s: what Append wrote, Decode does not read: %v", w.all.Alg.Spec, err))
	}
	return m, rest
}

// violation says what is wrong with a state; "" if nothing.
func (w *world[S, M, P]) violation(state []*part) string {
	holders, untold := 0, false
	for _, p := range state[:w.n] {
		untold = untold || p.untold
		if p.holds {
			holders++
		}
		if w.scope.Bypass > 0 && int(p.bytes[peerPassed]) > w.scope.Bypass {
			return Starves
		}
	}
	switch {
	case holders > 1:
		return TwoHold
	case untold:
		return Untold
	case state[w.restField()].back:
		return TokenBack
	}
	return ""
}

// mustGetOn is the peers that wait in a state and may not be stuck there, one bit for each.
func (w *world[S, M, P]) mustGetOn(state []*part) byte {
	if w.scope.Stuck == StuckUnchecked || w.scope.Stuck == StuckHealed && !w.healed(state) {
		return 0
	}
	return w.waiting(state)
}

// waiting is one bit for each peer that waits.
func (w *world[S, M, P]) waiting(state []*part) (bits byte) {
	for i, p := range state[:w.n] {
		if p.waits {
			bits |= 1 << i
		}
	}
	return bits
}
