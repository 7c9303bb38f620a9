package peerlock

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed says that a peer sent a malformed message.
var ErrMalformed = errors.New("peerlock: malformed message")

// Fields is a message on the wire: one byte with the kind, and the flag in its highest bit,
// two numbers as unsigned varints, and the name of the resource.
type Fields struct {
	Kind    uint8 // from 1 on
	Flag    bool
	Numbers [2]uint64
}

const flagBit = 0x80

// Append encodes a message, except for the name.
func (f Fields) Append(b []byte) []byte {
	if f.Flag {
		f.Kind |= flagBit
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(b, f.Kind), f.Numbers[0]), f.Numbers[1])
}

// Cut decodes the fields; rest is the name. Kinds go from 1 to last.
func Cut(b []byte, last uint8) (f Fields, rest []byte, err error) {
	if len(b) == 0 || b[0]&^flagBit == 0 || b[0]&^flagBit > last {
		return f, nil, fmt.Errorf("kind of %.8q should be from 1 to %d: %w", b, last, ErrMalformed)
	}
	f.Kind, f.Flag, b = b[0]&^flagBit, b[0]&flagBit != 0, b[1:]
	for i := range f.Numbers {
		number, n := binary.Uvarint(b)
		if n <= 0 {
			return f, nil, fmt.Errorf("number: %w", ErrMalformed)
		}
		f.Numbers[i], b = number, b[n:]
	}
	return f, b, nil
}
