package explore

import "encoding/binary"

// pack appends a state as the identities of its parts.
func pack(b []byte, state []*part) []byte {
	for _, p := range state {
		if p.id < 0x80 {
			b = append(b, byte(p.id))
		} else {
			b = binary.AppendUvarint(b, uint64(p.id))
		}
	}
	return b
}

// unpack reads a state off the front of b and returns the rest.
func (in *interner) unpack(b []byte, state []*part) (rest []byte) {
	for field := range state {
		id := uint64(b[0])
		if id < 0x80 {
			b = b[1:]
		} else {
			var n int
			id, n = binary.Uvarint(b)
			b = b[n:]
		}
		state[field] = in.at(field, uint32(id))
	}
	return b
}

// packedLen is the length of the state at the front of b.
func packedLen(b []byte, fields int) int {
	n := 0
	for ; fields > 0; n++ {
		if b[n] < 0x80 {
			fields--
		}
	}
	return n
}

// hashOf is the hash of a state: that of its parts, which depend on where they stand.
func hashOf(state []*part) uint64 {
	var h uint64
	for _, p := range state {
		h ^= p.hash
	}
	return h
}
