package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Core is what an exploration needs of a core, a part of [peercore.Core].
type Core[S, M any] interface {
	*S
	Step(ev peercore.Event[M], out []peercore.Effect[M]) []peercore.Effect[M]
	Waits() bool
	Holds() bool
	Idle() bool
	Round() uint64
	Reset(like *S, round uint64)
	AppendEncode(b []byte) []byte
	Load(b []byte) (rest []byte)
}

// system is what all workers of an exploration share.
type system[S, M any, P Core[S, M]] struct {
	layout
	alg      peercore.Algorithm[S, M]
	scope    Scope
	parts    *interner
	numbered bool // rounds can be made small
	tokens   bool // holders have tokens that can be compared
	timed    bool
	gap      uint64   // the widest that is kept between two numbers
	amnesic  [][]byte // by peer: what it knows when it starts again
	restarts [][]byte // and its control state
}

// worker makes moves. Each goroutine has its own.
type worker[S, M any, P Core[S, M]] struct {
	*system[S, M, P]
	base []*part // the state that is looked at
	next []*part // what a move makes of it

	peers []S // scratch, one for each peer: they keep their configuration
	probe []S // likewise, for what is interned

	controls, controlProbe []S // likewise, if there are any

	effects []peercore.Effect[M]
	message M // that is renumbered
	list    []Move
	buf     []byte
	packed  []byte
	numbers renumbering
	mapped  func(owner int, number uint64) uint64
	marks   []uint64 // of the part that is being made
	wide    bool
	mark    func(owner int, number uint64) uint64

	plain       bool // leave numbers as they are
	transitions int64
	shortened   bool // a gap between numbers was wider than is kept
	observe     func(peer int, e peercore.Effect[M])
}

func newSystem[S, M any, P Core[S, M]](alg peercore.Algorithm[S, M], sc Scope) *system[S, M, P] {
	sample := alg.New(sc.Peers-1, peercore.Others(sc.Peers, sc.Peers-1), false)
	controls := alg.Control != nil && sc.Crashes > 0 && durable[S, M](P(&sample)) == nil
	sys := &system[S, M, P]{layout: layout{sc.Peers, controls}, alg: alg, scope: sc}
	sys.parts = newInterner(sys.fields())
	numbered, ok := any(P(&sample)).(peercore.Numbered)
	sys.numbered = ok && alg.Renumber != nil
	_, sys.timed = any(P(&sample)).(peercore.Timed)
	sys.tokens = sys.timed && !sys.numbered
	if sys.numbered {
		sys.gap = sys.widestGap(numbered)
	}
	for i := range sc.Peers {
		control, s := sys.boot(i, true)
		sys.amnesic = append(sys.amnesic, P(&s).AppendEncode(nil))
		sys.restarts = append(sys.restarts, P(&control).AppendEncode(nil))
	}
	return sys
}

// boot is what a peer that starts has: a state of a resource that nobody wants, and, if
// peers have them, a control state.
func (sys *system[S, M, P]) boot(i int, amnesic bool) (control, idle S) {
	others := peercore.Others(sys.n, i)
	if sys.hasControls {
		return sys.alg.Control(i, others, amnesic)
	}
	s := sys.alg.New(i, others, amnesic)
	return s, s
}

// gapUnbounded is how wide gaps are kept where the scope does not bound them.
const gapUnbounded = 16

// widestGap is one where every peer counts up its own numbers only: a new number is
// then above all others of its owner, whatever gaps there are. Where peers number
// above what they saw of others, a number can fall into a gap; no more of them do than
// there are requests.
func (sys *system[S, M, P]) widestGap(sample peercore.Numbered) uint64 {
	own := true
	sample.Renumber(func(owner int, number uint64) uint64 {
		own = own && owner == sys.n-1
		return number
	})
	if own {
		return 1
	}
	sum := uint64(1)
	for _, r := range sys.scope.Requests {
		if r == Any {
			return gapUnbounded
		}
		sum += uint64(r)
	}
	return sum
}

func (sys *system[S, M, P]) newWorker() *worker[S, M, P] {
	w := &worker[S, M, P]{
		system: sys,
		base:   make([]*part, sys.fields()), next: make([]*part, sys.fields()),
		marks: make([]uint64, sys.n), numbers: newRenumbering(sys.n),
	}
	for i := range sys.n {
		control, idle := sys.boot(i, false)
		w.controls, w.peers = append(w.controls, control), append(w.peers, idle)
		control, idle = sys.boot(i, false)
		w.controlProbe, w.probe = append(w.controlProbe, control), append(w.probe, idle)
	}
	w.mapped = w.numbers.value
	w.mark = func(owner int, number uint64) uint64 {
		if number < 64 {
			w.marks[owner] |= 1 << number
		} else {
			w.wide = true
		}
		return number
	}
	return w
}

// first makes next the state in which an exploration begins.
func (w *worker[S, M, P]) first() {
	sc := &w.scope
	for i := range w.n {
		p := P(&w.peers[i])
		live := byte(1)
		if sc.Forming {
			live = 0
		}
		for j := range w.n {
			if j == i {
				continue
			}
			if !sc.Forming {
				w.effects = p.Step(peercore.Event[M]{Kind: peercore.Connect, Peer: j}, w.effects[:0])
				w.effects = P(&w.controls[i]).Step(peercore.Event[M]{Kind: peercore.Connect, Peer: j}, w.effects[:0])
			}
			w.buf = append(w.buf[:0], live)
			w.next[w.wire(i, j)] = w.intern(w.wire(i, j), w.buf)
		}
		w.buf = p.AppendEncode(append(w.buf[:0], countByte(sc.Requests[i]), 0, byte(peercore.ClientIdle)))
		w.next[i] = w.intern(i, w.buf)
		if w.hasControls {
			w.next[w.control(i)] = w.intern(w.control(i), P(&w.controls[i]).AppendEncode(nil))
		}
	}
	w.buf = append(w.buf[:0],
		countByte(sc.GiveUps), byte(sc.Cuts), countByte(sc.Mends), byte(sc.Crashes),
		countByte(sc.Expiries), countByte(sc.Renewals), countByte(sc.Forgets))
	if w.timed {
		w.buf = append(w.buf, make([]byte, w.n+1)...) // and that no token was given
	}
	w.next[w.restField()] = w.intern(w.restField(), w.buf)
}

// intern finds the part with these bytes or makes it.
func (w *worker[S, M, P]) intern(field int, b []byte) *part {
	hash := hashBytes(uint64(field), b)
	if p := w.parts.find(field, hash, b); p != nil {
		return p
	}
	p := &part{field: field, hash: hash, bytes: slices.Clone(b)}
	clear(w.marks)
	w.wide = false
	switch {
	case field < w.n:
		w.describePeer(p)
	case field < w.restField():
		w.describeWire(p)
	case field > w.restField():
		core := P(&w.controlProbe[field-w.control(0)])
		core.Load(p.bytes)
		p.timers = timersOf(core)
	case w.timed:
		_, n := binary.Uvarint(p.bytes[restPending+w.n:])
		p.back = len(p.bytes) > restPending+w.n+n
	}
	if w.wide || slices.Max(w.marks) > 0 {
		p.marks, p.wide = slices.Clone(w.marks), w.wide
	}
	return w.parts.add(p)
}

func (w *worker[S, M, P]) describePeer(p *part) {
	core := P(&w.probe[p.field])
	core.Load(p.bytes[peerCore:])
	client := peercore.Client(p.bytes[peerClient] &^ goneFlag)
	p.gone = p.bytes[peerClient]&goneFlag != 0
	p.waits, p.holds = client == peercore.ClientWaits, client == peercore.ClientHolds
	p.untold = !client.Knows(core.Waits(), core.Holds())
	p.idle, p.round = core.Idle(), core.Round()
	if q, ok := any(core).(peercore.Pauser); ok {
		p.pauses = q.Pauses()
	}
	if q, ok := any(core).(peercore.Timed); ok {
		p.timers, p.uses, p.voted = timersOf(core), q.Uses(), q.Voted()
	}
	if w.numbered {
		any(core).(peercore.Numbered).Renumber(w.mark)
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

func (w *worker[S, M, P]) describeWire(p *part) {
	from, to := w.endsOf(p.field)
	for b := p.bytes[1:]; len(b) > 0; {
		if isNews(b[0]) {
			b = b[1:]
		} else {
			m, rest := w.decode(b[1:])
			if b = rest; w.numbered {
				w.alg.Renumber(&m, from, to, w.mark)
			}
		}
		p.ends = append(p.ends, uint16(len(p.bytes)-len(b)))
	}
}

// decode reads a message that the algorithm's own Append wrote.
func (w *worker[S, M, P]) decode(b []byte) (m M, rest []byte) {
	m, rest, err := w.alg.Decode(b)
	if err != nil {
		panic(fmt.Sprintf("explore: %s: what Append wrote, Decode does not read: %v", w.alg.Spec, err))
	}
	return m, rest
}
