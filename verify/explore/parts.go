package explore

import (
	"encoding/binary"
	"unsafe"
)

// part is one part of a state: what a peer knows, what is on a wire, or what is left of
// the bounds. It never changes.
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

	// Wires.
	ends []uint16 // of each item in bytes

	// The rest.
	back bool // a token was given that is not above all before
}

// parts gives equal parts the same identity.
type parts struct {
	known []map[string]*part // by field
	lists [][]*part          // by field and id
	bytes int64              // memory, about
}

func newParts(fields int) *parts {
	ps := &parts{known: make([]map[string]*part, fields), lists: make([][]*part, fields)}
	for i := range ps.known {
		ps.known[i] = map[string]*part{}
	}
	return ps
}

// add enters a new part.
func (ps *parts) add(field int, p *part) {
	p.id = uint32(len(ps.lists[field]))
	ps.lists[field] = append(ps.lists[field], p)
	ps.known[field][string(p.bytes)] = p
	const perEntry = 40 // of the map and the list
	ps.bytes += int64(unsafe.Sizeof(*p)) + 2*int64(cap(p.bytes)) + 16*int64(cap(p.numbers)) + 2*int64(cap(p.ends)) + perEntry
}

// pack appends a state as the identities of its parts.
func pack(b []byte, state []*part) []byte {
	for _, p := range state {
		b = binary.AppendUvarint(b, uint64(p.id))
	}
	return b
}

// unpack reads a state off the front of b.
func (ps *parts) unpack(b []byte, state []*part) {
	for field := range state {
		var id uint32
		id, b = cutID(b)
		state[field] = ps.lists[field][id]
	}
}

// cutID reads what pack wrote of one part. Most are small.
func cutID(b []byte) (id uint32, rest []byte) {
	if b[0] < 0x80 {
		return uint32(b[0]), b[1:]
	}
	v, n := binary.Uvarint(b)
	return uint32(v), b[n:]
}

// packedLen is the length of the state at the front of b.
func (l layout) packedLen(b []byte) (n int) {
	for fields := l.fields(); fields > 0; n++ {
		if b[n] < 0x80 {
			fields--
		}
	}
	return n
}

// A state is a list of parts: the peers, then the wires, by sender and receiver, then
// the rest, then the peers' control states, if there are any.
//
//	peer   requests left · how often it was passed · what its client believes, and
//	       whether the resource is forgotten · the core's encoding
//	wire   whether the sender's end is live · items
//	rest   what is left of the scope's counts; with leases, for each peer, whose
//	       leases its recovery from a crash waits for · the highest token, a varint ·
//	       whether a lower one was given after it
//	control  the core's encoding
//	clock  for each peer, how long each timer still runs, or off, and since when it counts its
//	       lease; how many ticks are left. The last part, if there is a clock
//
// Counts are bytes; 255 is any number.

const (
	peerRequests = iota
	peerPassed
	peerClient // a peercore.Client, and the flag
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

func countByte(n int) byte {
	if n == Any {
		return anyByte
	}
	return byte(n)
}

// less is a count less one.
func less(b byte) byte {
	if b == anyByte {
		return b
	}
	return b - 1
}

// The items on a wire: a message, from control state to control state or not, or the
// news that the connection was lost or made, which come in order with the messages.
const (
	itemMessage = 'm'
	itemControl = 'c'
	itemDown    = 'd'
	itemUp      = 'u'
)

func isNews(kind byte) bool { return kind == itemDown || kind == itemUp }

func (l layout) fields() int {
	n := l.n*l.n + 1
	if l.hasControls {
		n += l.n
	}
	if l.hasClock {
		n++
	}
	return n
}

func (l layout) clockField() int { return l.fields() - 1 }

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

// ends of a wire by its field.
func (l layout) endsOf(field int) (from, to int) {
	from, to = (field-l.n)/(l.n-1), (field-l.n)%(l.n-1)
	if to >= from {
		to++
	}
	return from, to
}

type layout struct {
	n           int
	hasControls bool // the peers have control states
	hasClock    bool
}

// current says that the sender's end of the connection is live.
func (p *part) current() bool { return p.bytes[0] != 0 }

// start is where the token begins.
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
