package core

import (
	"encoding/binary"
	"fmt"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// A message on the wire:
//
//	kind     1 byte: 1 MyLock, 2 YourLock, 3 LockReset; 0x80 added if the sender lurks
//	round    unsigned varint
//	view     unsigned varint, one bit for each rank; MyLock only
//
// The resource's name is the rest of the frame.

const lurksBit = 0x80

// Append appends a message as it is on the wire.
func Append(b []byte, m Message) []byte {
	kind := byte(m.Kind)
	if m.Lurks {
		kind |= lurksBit
	}
	b = append(b, kind)
	b = binary.AppendUvarint(b, m.Round)
	if m.Kind == MyLock {
		b = m.View.Append(b)
	}
	return b
}

// Decode reads what Append wrote off the front of b. Its errors wrap [peerlock.ErrMalformed].
func Decode(b []byte) (m Message, rest []byte, err error) {
	if len(b) == 0 {
		return m, nil, fmt.Errorf("empty: %w", peerlock.ErrMalformed)
	}
	m.Kind, m.Lurks = MessageKind(b[0]&^lurksBit), b[0]&lurksBit != 0
	if m.Kind < MyLock || m.Kind > LockReset || (m.Lurks && m.Kind != YourLock) {
		return m, nil, fmt.Errorf("kind %#x: %w", b[0], peerlock.ErrMalformed)
	}
	round, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return m, nil, fmt.Errorf("round: %w", peerlock.ErrMalformed)
	}
	m.Round, b = round, b[1+n:]
	if m.Kind == MyLock {
		var ok bool
		if m.View, b, ok = peercore.CutSet(b); !ok {
			return m, nil, fmt.Errorf("view: %w", peerlock.ErrMalformed)
		}
	}
	return m, b, nil
}
