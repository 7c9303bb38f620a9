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

// count is how many different parts there are.
func (ps *parts) count() (n int) {
	for _, list := range ps.lists {
		n += len(list)
	}
	return n
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
