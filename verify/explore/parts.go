package explore

import (
	"encoding/binary"

	"locklab/locks/peerlock/peercore"
)

// part is one part of a state: what a peer knows, what is on a wire, or what is left of the bounds. It
// never changes.
type part struct {
	id    uint32 // among the parts that stand in the same place of a state
	bytes []byte

	numbers []number // those that are mentioned, each once

	// Peers. Whether one waits or holds is what its client believes.
	waits, holds, pauses, idle bool
	gone                       bool  // the peer has forgotten the resource
	untold                     bool  // its client believes something else than its core
	timers                     uint8 // those that run, one bit for each
	uses, voted, round         uint64

	ends []uint16 // wires: of each item in bytes
	back bool     // the rest: a token was given that is not above all before
}

// A state is a list of parts: the peers, then the wires, by sender and receiver, then the rest, then
// the peers' control states, if there are any. Counts are bytes; 255 is any number.
//
//	peer     requests left · how often it was passed · what its client believes, and whether the
//	         resource is forgotten · the core's encoding
//	wire     whether the sender's end is live · items
//	rest     what is left of the scope's counts; with leases, for each peer, whose leases its recovery
//	         from a crash waits for · the highest token, a varint · whether a lower one was given after it
//	control  the core's encoding
const (
	peerRequests = iota
	peerPassed
	peerClient // a peercore.Client, and goneFlag
	peerCore
)

const (
	restGiveUps = iota
	restCuts
	restMends
	restCrashes
	restExpiries
	restRenewals
	restForgets
	restPending // one byte for each peer
)

const (
	goneFlag  = 0x80
	anyByte   = 255
	tokenBack = 0 // after the highest token
)

func countByte(n int) byte { return byte(n) } // Any is anyByte

// The items on a wire: a message, from control state to control state or not, or the news that the
// connection was lost or made, which come in order with the messages.
const (
	itemMessage = 'm'
	itemControl = 'c'
	itemDown    = 'd'
	itemUp      = 'u'
)

func isNews(kind byte) bool { return kind == itemDown || kind == itemUp }

// layout is which parts a state has.
type layout struct {
	n           int
	hasControls bool // the peers have control states
}

func (l layout) fields() int {
	if l.hasControls {
		return l.n*l.n + 1 + l.n
	}
	return l.n*l.n + 1
}

func (l layout) restField() int { return l.n * l.n }

// control is the field of a peer's control state.
func (l layout) control(i int) int { return l.restField() + 1 + i }

// wire is the field of what is on the way from i to j.
func (l layout) wire(i, j int) int {
	if j > i {
		j--
	}
	return l.n + i*(l.n-1) + j
}

// endsOf is the ends of a wire by its field.
func (l layout) endsOf(field int) (from, to int) {
	from, to = (field-l.n)/(l.n-1), (field-l.n)%(l.n-1)
	if to >= from {
		to++
	}
	return from, to
}

// current says that the sender's end of the connection is live.
func (p *part) current() bool { return p.bytes[0] != 0 }

// start is where an item begins.
func (p *part) start(item int) int {
	if item == 0 {
		return 1
	}
	return int(p.ends[item-1])
}

func (p *part) kindAt(item int) byte { return p.bytes[p.start(item)] }

// item is its bytes.
func (p *part) item(k int) []byte { return p.bytes[p.start(k):p.ends[k]] }

// afterNews is the index of the first item after which there is no more news.
func (p *part) afterNews() int {
	for k := len(p.ends); k > 0; k-- {
		if isNews(p.kindAt(k - 1)) {
			return k
		}
	}
	return 0
}

// intern finds the part with these bytes or makes it.
func (w *world[S, M, P]) intern(field int, b []byte) *part {
	if p := w.known[field][string(b)]; p != nil {
		return p
	}
	p := &part{id: uint32(len(w.lists[field])), bytes: append([]byte(nil), b...)}
	mention := func(owner int, value uint64) uint64 {
		p.mention(number{owner, value})
		return value
	}
	switch {
	case field < w.n:
		w.describePeer(field, p, mention)
	case field < w.restField():
		w.describeWire(field, p, mention)
	case field > w.restField():
		core := P(&w.probes[field-w.control(0)].Control)
		core.Load(p.bytes)
		p.timers = timersOf(core)
	case w.timed:
		_, n := binary.Uvarint(p.bytes[restPending+w.n:])
		p.back = len(p.bytes) > restPending+w.n+n
	}
	w.lists[field] = append(w.lists[field], p)
	w.known[field][string(p.bytes)] = p
	return p
}

func (w *world[S, M, P]) describePeer(i int, p *part, mention func(int, uint64) uint64) {
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
		any(core).(peercore.Numbered).Renumber(mention)
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

func (w *world[S, M, P]) describeWire(field int, p *part, mention func(int, uint64) uint64) {
	from, to := w.endsOf(field)
	for b := p.bytes[1:]; len(b) > 0; {
		if isNews(b[0]) {
			b = b[1:]
		} else {
			m, rest := w.decode(b[1:])
			if b = rest; w.numbered {
				w.all.Alg.Renumber(&m, from, to, mention)
			}
		}
		p.ends = append(p.ends, uint16(len(p.bytes)-len(b)))
	}
}
