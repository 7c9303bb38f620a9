package quorum

import (
	"encoding/binary"
	"fmt"
	"math"

	"locklab/locks/peerlock"
)

// A message on the wire:
//
//	kind     1 byte, see MessageKind; 0x80 added to LockReset if used, to Floor if recovering
//	token    unsigned varint; all but LockReset and Ask
//	seq      unsigned varint; MyLock and YourLock only
//
// The resource's name is the rest of the frame. It is empty in what control states say.

const flagBit = 0x80

func (k MessageKind) hasToken() bool { return k != LockReset && k != Ask }

func (k MessageKind) hasSeq() bool { return k == MyLock || k == YourLock }

// Append encodes a message.
func Append(b []byte, m Message) []byte {
	kind := byte(m.Kind)
	if m.Used || m.Recovering {
		kind |= flagBit
	}
	b = append(b, kind)
	if m.Kind.hasToken() {
		b = binary.AppendUvarint(b, m.Token)
	}
	if m.Kind.hasSeq() {
		b = binary.AppendUvarint(b, uint64(m.Seq))
	}
	return b
}

// Decode reads a message off the front of b. Its error wraps [peerlock.ErrMalformed].
func Decode(b []byte) (m Message, rest []byte, err error) {
	if len(b) == 0 {
		return m, nil, fmt.Errorf("empty: %w", peerlock.ErrMalformed)
	}
	flag := b[0]&flagBit != 0
	m.Kind = MessageKind(b[0] &^ flagBit)
	m.Used, m.Recovering = flag && m.Kind == LockReset, flag && m.Kind == Floor
	if m.Kind < MyLock || m.Kind > Floor || flag != (m.Used || m.Recovering) {
		return Message{}, nil, fmt.Errorf("kind %#x: %w", b[0], peerlock.ErrMalformed)
	}
	b = b[1:]
	if m.Kind.hasToken() {
		token, n := binary.Uvarint(b)
		if n <= 0 {
			return Message{}, nil, fmt.Errorf("token: %w", peerlock.ErrMalformed)
		}
		m.Token, b = token, b[n:]
	}
	if m.Kind.hasSeq() {
		seq, n := binary.Uvarint(b)
		if n <= 0 || seq > math.MaxUint32 {
			return Message{}, nil, fmt.Errorf("sequence number: %w", peerlock.ErrMalformed)
		}
		m.Seq, b = uint32(seq), b[n:]
	}
	if m.Kind == MyLock && m.Token == 0 {
		return Message{}, nil, fmt.Errorf("token 0: %w", peerlock.ErrMalformed)
	}
	return m, b, nil
}

// Opens says that the message means something to a peer that keeps no state of the
// resource.
func Opens(m Message) bool { return m.Kind == MyLock }
