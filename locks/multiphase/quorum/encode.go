package quorum

import (
	"encoding/binary"

	"locklab/locks/peerlock/peercore"
)

// The first byte of an encoding has the phase in its two low bits, then the flags.
const (
	phaseMask = 0x03
	firstFlag = 0x04
)

func (s *State) flags() [6]bool {
	return [...]bool{s.recovering, s.waited, s.renewing, s.due, s.recalled, s.voted()}
}

// AppendEncode appends a canonical encoding: two states of one peer behave alike
// if their encodings are equal.
func (s *State) AppendEncode(b []byte) []byte {
	flags := byte(s.phase)
	for i, set := range s.flags() {
		if set {
			flags |= firstFlag << i
		}
	}
	b = append(b, flags)
	b = s.connected.Append(b)
	b = binary.AppendUvarint(b, s.seen)
	b = binary.AppendUvarint(b, s.floor)
	if s.claims() {
		b = binary.AppendUvarint(b, s.token)
		b = binary.AppendUvarint(b, s.seq)
		b = s.granted.Append(b)
	}
	if s.voted() {
		b = s.vote.append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(s.waiting)))
	for _, w := range s.waiting {
		b = w.append(b)
	}
	if s.recovering {
		b = s.heard.Append(b)
		b = s.steady.Append(b)
	}
	if s.cfg.Options.Disk {
		b = s.disk.append(b)
	}
	return b
}

func (r request) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(r.from))
	b = binary.AppendUvarint(b, r.token)
	return binary.AppendUvarint(b, r.seq)
}

// Load makes s the state that AppendEncode wrote at the front of b and returns the
// rest of b. It keeps the configuration and reuses the memory of s.
func (s *State) Load(b []byte) []byte {
	c := peercore.Cursor(b)
	flags := c.Byte()
	*s = State{cfg: s.cfg, waiting: s.waiting[:0], phase: Phase(flags & phaseMask)}
	var voted bool
	for i, flag := range [...]*bool{&s.recovering, &s.waited, &s.renewing, &s.due, &s.recalled, &voted} {
		*flag = flags&(firstFlag<<i) != 0
	}
	s.connected, s.seen, s.floor = c.Set(), c.Uvarint(), c.Uvarint()
	if s.claims() {
		s.token, s.seq, s.granted = c.Uvarint(), c.Uvarint(), c.Set()
	}
	if voted {
		s.vote = cutRequest(&c)
	}
	for range c.Uvarint() {
		s.waiting = append(s.waiting, cutRequest(&c))
	}
	if s.recovering {
		s.heard, s.steady = c.Set(), c.Set()
	}
	if s.cfg.Options.Disk {
		s.disk = cutStored(&c)
	}
	return c
}

func cutRequest(c *peercore.Cursor) request {
	return request{from: int(c.Uvarint()), token: c.Uvarint(), seq: c.Uvarint()}
}
