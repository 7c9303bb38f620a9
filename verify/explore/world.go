package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// world is the peers and all that is between them in one state, and what a move makes of
// it.
type world[S, M any, P peercore.Core[S, M]] struct {
	layout
	all      peers.Peers[S, M, P]
	scope    Scope
	parts    *parts
	numbered bool // rounds can be made small
	tokens   bool // holders have tokens that can be compared
	timed    bool
	gap      uint64 // the widest that is kept between two numbers
	durable  bool   // cores keep on disk what must outlive a crash, so they have nothing to recover

	restarts [][2][]byte // by peer: what it has when it starts again, without its disk; its control state

	base []*part // the state that is looked at
	next []*part // what a move makes of it

	// Scratch. Cores keep their configuration.
	peers       []peers.Peer[S]
	probes      []peers.Peer[S]      // for what is interned
	effects     []peercore.Effect[M] // of a control state
	held        bool                 // a client was told so in this step
	message     M                    // that is renumbered
	list        []Move
	buf, packed []byte
	numbers     renumbering
	mapped      func(owner int, value uint64) uint64
	mentioned   []number // in the part that is being made
	mention     func(owner int, value uint64) uint64

	plain     bool // leave numbers as they are
	shortened bool // a gap between numbers was wider than is kept
	observe   func(peer int, e peercore.Effect[M])
}

func newWorld[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], sc Scope) *world[S, M, P] {
	sample := alg.New(sc.Peers-1, peercore.Others(sc.Peers, sc.Peers-1), false)
	durable := peercore.Stores[S, M, P](&sample)
	controls := alg.Control != nil && sc.Crashes > 0 && !durable
	w := &world[S, M, P]{layout: layout{sc.Peers, controls, sc.Clock != nil}, scope: sc, durable: durable}
	w.all = peers.Peers[S, M, P]{Alg: alg, N: sc.Peers, Controls: controls, Does: w.does}
	w.parts = newParts(w.fields())
	w.base, w.next = make([]*part, w.fields()), make([]*part, w.fields())
	numbered, ok := any(P(&sample)).(peercore.Numbered)
	w.numbered = ok && alg.Renumber != nil
	_, w.timed = any(P(&sample)).(peercore.Timed)
	w.tokens = w.timed && !w.numbered
	if w.numbered {
		w.gap = w.widestGap(numbered)
	}
	for i := range sc.Peers {
		p := w.all.Start(i, !durable)
		w.restarts = append(w.restarts, [2][]byte{P(&p.State).AppendEncode(nil), nil})
		if controls {
			w.restarts[i][1] = P(&p.Control).AppendEncode(nil)
		}
		w.peers, w.probes = append(w.peers, w.all.Start(i, false)), append(w.probes, w.all.Start(i, false))
	}
	w.numbers = newRenumbering(w.n)
	w.mapped = w.numbers.value
	w.mention = func(owner int, value uint64) uint64 {
		if x := (number{owner, value}); !slices.Contains(w.mentioned, x) {
			w.mentioned = append(w.mentioned, x)
		}
		return value
	}
	return w
}

// gapUnbounded is how wide gaps are kept where the scope does not bound them.
const gapUnbounded = 16

// widestGap is one where every peer counts up its own numbers only: a new number is
// then above all others of its owner, whatever gaps there are. Where peers number
// above what they saw of others, a number can fall into a gap; no more of them do than
// there are requests.
func (w *world[S, M, P]) widestGap(sample peercore.Numbered) uint64 {
	own := true
	sample.Renumber(func(owner int, number uint64) uint64 {
		own = own && owner == w.n-1
		return number
	})
	if own {
		return 1
	}
	sum := uint64(1)
	for _, r := range w.scope.Requests {
		if r == Any {
			return gapUnbounded
		}
		sum += uint64(r)
	}
	return sum
}

// first makes next the state in which an exploration begins.
func (w *world[S, M, P]) first() {
	sc := &w.scope
	for i := range w.n {
		w.peers[i] = w.all.Start(i, false)
		if sc.Newborn {
			w.peers[i].State = w.all.Start(i, true).State
		}
		p := &w.peers[i]
		for j := range w.n {
			if j == i {
				continue
			}
			live := byte(1)
			if sc.Forming || sc.down(i, j) {
				live = 0
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
		w.save(i, countByte(sc.Requests[i]), 0)
		w.saveControl(i)
	}
	w.buf = append(w.buf[:0],
		countByte(sc.GiveUps), byte(sc.Cuts), countByte(sc.Mends), byte(sc.Crashes),
		countByte(sc.Expiries), countByte(sc.Renewals), countByte(sc.Forgets))
	if w.timed {
		w.buf = append(w.buf, make([]byte, w.n+1)...) // and that no token was given
	}
	w.keep(w.restField())
	if w.hasClock {
		w.firstClock()
	}
}

// intern finds the part with these bytes or makes it.
func (w *world[S, M, P]) intern(field int, b []byte) *part {
	if p := w.parts.known[field][string(b)]; p != nil {
		return p
	}
	p := &part{bytes: slices.Clone(b)}
	w.mentioned = w.mentioned[:0]
	switch {
	case field < w.n:
		w.describePeer(field, p)
	case field < w.restField():
		w.describeWire(field, p)
	case w.hasClock && field == w.clockField():
	case field > w.restField():
		core := P(&w.probes[field-w.control(0)].Control)
		core.Load(p.bytes)
		p.timers = timersOf(core)
	case w.timed:
		_, n := binary.Uvarint(p.bytes[restPending+w.n:])
		p.back = len(p.bytes) > restPending+w.n+n
	}
	p.numbers = slices.Clone(w.mentioned)
	w.parts.add(field, p)
	return p
}

func (w *world[S, M, P]) describePeer(i int, p *part) {
	peer := w.load(p, &w.probes[i])
	core := P(&peer.State)
	p.gone, p.untold = peer.Forgotten, !w.all.Told(peer)
	p.waits, p.holds = peer.Waits(), peer.Holds()
	p.idle, p.round = peercore.Forgettable[S, M, P](&w.all.Alg, core), core.Round()
	if q, ok := any(core).(peercore.Pauser); ok {
		p.pauses = q.Pauses()
	}
	if q, ok := any(core).(peercore.Timed); ok {
		p.timers, p.uses, p.voted = timersOf(core), q.Uses(), q.Voted()
	}
	if w.numbered {
		any(core).(peercore.Numbered).Renumber(w.mention)
	}
}

// timersOf are those that run, one bit for each.
func timersOf(core any) (timers uint8) {
	if q, ok := core.(peercore.Timed); ok {
		for t := range peercore.Timers {
			if q.Running(t) {
				timers |= 1 << t
			}
		}
	}
	return timers
}

func (w *world[S, M, P]) describeWire(field int, p *part) {
	from, to := w.endsOf(field)
	for b := p.bytes[1:]; len(b) > 0; {
		if isNews(b[0]) {
			b = b[1:]
		} else {
			m, rest := w.decode(b[1:])
			if b = rest; w.numbered {
				w.all.Alg.Renumber(&m, from, to, w.mention)
			}
		}
		p.ends = append(p.ends, uint16(len(p.bytes)-len(b)))
	}
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
	case w.hasClock && w.unmatched(state):
		return Unmatched
	case state[w.restField()].back:
		return TokenBack
	}
	return ""
}

// mustGetOn says that nobody may be stuck in the state.
func (w *world[S, M, P]) mustGetOn(state []*part) bool {
	switch w.scope.Stuck {
	case StuckAnywhere:
		return true
	case StuckHealed:
		return w.healed(state)
	default:
		return false
	}
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
