package multiphase

import (
	"encoding/binary"
	"errors"
	"fmt"

	"locklab/locks"
	"locklab/locks/multiphase/core"
)

// A message on the wire:
//
//	kind     1 byte: 1 MyLock, 2 YourLock, 3 LockReset; 0x80 added if the sender lurks
//	round    unsigned varint
//	view     unsigned varint, one bit for each rank; MyLock only
//	name     the rest

const lurksBit = 0x80

// ErrMalformed says that a peer sent something that is no message.
var ErrMalformed = errors.New("multiphase: malformed message")

func appendMessage(b []byte, name string, m core.Message) []byte {
	kind := byte(m.Kind)
	if m.Lurks {
		kind |= lurksBit
	}
	b = append(b, kind)
	b = binary.AppendUvarint(b, m.Round)
	if m.Kind == core.MyLock {
		b = binary.AppendUvarint(b, uint64(m.View))
	}
	return append(b, name...)
}

// decodeMessage returns the message and the resource's name, which is part of b.
func decodeMessage(b []byte) (name []byte, m core.Message, err error) {
	if len(b) == 0 {
		return nil, m, fmt.Errorf("empty: %w", ErrMalformed)
	}
	m.Kind, m.Lurks = core.MessageKind(b[0]&^lurksBit), b[0]&lurksBit != 0
	if m.Kind < core.MyLock || m.Kind > core.LockReset || (m.Lurks && m.Kind != core.YourLock) {
		return nil, m, fmt.Errorf("kind %#x: %w", b[0], ErrMalformed)
	}
	round, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return nil, m, fmt.Errorf("round: %w", ErrMalformed)
	}
	m.Round, b = round, b[1+n:]
	if m.Kind == core.MyLock {
		view, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, m, fmt.Errorf("view: %w", ErrMalformed)
		}
		m.View, b = core.Set(view), b[n:]
	}
	if len(b) == 0 || len(b) > locks.ResourceBytesMax {
		return nil, m, fmt.Errorf("name of %d bytes: %w", len(b), ErrMalformed)
	}
	return b, m, nil
}
