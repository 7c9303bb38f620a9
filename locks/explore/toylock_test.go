package explore

import (
	"encoding/binary"
	"errors"

	"locklab/locks/peerlock/peercore"
)

// toyLock is Ricart and Agrawala's lock with one flaw or none. It is written as simply as
// possible: the real cores are not used here, so that what is compared is the engine.
type toyLock struct {
	self, n  int
	fault    toyFault
	state    byte // 0 nothing, 1 waits, 2 holds
	clock    uint64
	at       uint64
	linked   [4]bool
	replied  [4]bool
	deferred [4]uint64 // the request that waits for a reply; 0 is none
}

type toyFault int

const (
	toyRight     toyFault = iota
	toyGreedy             // a holder answers
	toyForgetful          // whoever gives up forgets whom it deferred
	toyDeaf               // does not notice new connections
)

type toyLockMessage struct {
	Reply bool
	At    uint64
}

type (
	toyEvent  = peercore.Event[toyLockMessage]
	toyEffect = peercore.Effect[toyLockMessage]
)

func (s *toyLock) Waits() bool   { return s.state == 1 }
func (s *toyLock) Holds() bool   { return s.state == 2 }
func (s *toyLock) Idle() bool    { return s.state == 0 }
func (s *toyLock) Round() uint64 { return s.clock }

func (s *toyLock) Reset(like *toyLock, round uint64) {
	*s = toyLock{self: like.self, n: like.n, fault: like.fault, clock: round, linked: like.linked}
}

func (s *toyLock) Step(ev toyEvent, out []toyEffect) []toyEffect {
	switch ev.Kind {
	case peercore.Request:
		s.clock++
		s.state, s.at, s.replied = 1, s.clock, [4]bool{}
		for j := range s.n {
			if s.linked[j] {
				out = append(out, toySend(j, false, s.at))
			}
		}
	case peercore.Leave:
		for j, at := range s.deferred {
			if at > 0 && (s.fault != toyForgetful || s.state == 2) {
				out = append(out, toySend(j, true, at))
			}
		}
		s.state, s.at, s.deferred, s.replied = 0, 0, [4]uint64{}, [4]bool{}
	case peercore.Connect:
		s.linked[ev.Peer] = true
		if s.state > 0 && s.fault != toyDeaf {
			out = append(out, toySend(ev.Peer, false, s.at))
		}
	case peercore.Disconnect:
		s.linked[ev.Peer], s.replied[ev.Peer], s.deferred[ev.Peer] = false, false, 0
	case peercore.Receive:
		return s.hear(ev.Peer, ev.Msg, out)
	default:
	}
	return out
}

func (s *toyLock) hear(from int, m toyLockMessage, out []toyEffect) []toyEffect {
	s.clock = max(s.clock, m.At)
	if !m.Reply {
		first := s.at < m.At || (s.at == m.At && s.self < from)
		if (s.state == 2 && s.fault != toyGreedy) || (s.state == 1 && first) {
			s.deferred[from] = m.At
			return out
		}
		return append(out, toySend(from, true, m.At))
	}
	if s.state != 1 || m.At != s.at {
		return out
	}
	s.replied[from] = true
	for j := range s.n {
		if j != s.self && !s.replied[j] {
			return out
		}
	}
	s.state = 2
	return append(out, toyEffect{Kind: peercore.Hold})
}

func toySend(to int, reply bool, at uint64) toyEffect {
	return toyEffect{Kind: peercore.Send, To: peercore.SetOf(to), Msg: toyLockMessage{reply, at}}
}

func (s *toyLock) AppendEncode(b []byte) []byte {
	b = append(b, s.state)
	b = binary.AppendUvarint(b, s.clock)
	b = binary.AppendUvarint(b, s.at)
	for j := range s.n {
		bits := byte(0)
		if s.linked[j] {
			bits = 1
		}
		if s.replied[j] {
			bits |= 2
		}
		b = append(b, bits)
		b = binary.AppendUvarint(b, s.deferred[j])
	}
	return b
}

func (s *toyLock) Load(b []byte) []byte {
	c := peercore.Cursor(b)
	*s = toyLock{self: s.self, n: s.n, fault: s.fault, state: c.Byte(), clock: c.Uvarint(), at: c.Uvarint()}
	for j := range s.n {
		bits := c.Byte()
		s.linked[j], s.replied[j], s.deferred[j] = bits&1 != 0, bits&2 != 0, c.Uvarint()
	}
	return c
}

func (s *toyLock) Renumber(f func(owner int, number uint64) uint64) {
	s.clock = f(0, s.clock)
	if s.at > 0 {
		s.at = f(0, s.at)
	}
	for j, at := range s.deferred {
		if at > 0 {
			s.deferred[j] = f(0, at)
		}
	}
}

func toyLocks(fault toyFault) peercore.Algorithm[toyLock, toyLockMessage] {
	return peercore.Algorithm[toyLock, toyLockMessage]{
		Spec: "toylock",
		New: func(self int, peers peercore.Set, _ bool) toyLock {
			return toyLock{self: self, n: peers.Len() + 1, fault: fault}
		},
		Opens: func(m toyLockMessage) bool { return !m.Reply },
		Append: func(b []byte, m toyLockMessage) []byte {
			kind := byte(0)
			if m.Reply {
				kind = 1
			}
			return binary.AppendUvarint(append(b, kind), m.At)
		},
		Decode: func(b []byte) (m toyLockMessage, rest []byte, err error) {
			if len(b) < 2 {
				return m, b, errors.New("too short")
			}
			c := peercore.Cursor(b)
			m.Reply, m.At = c.Byte() != 0, c.Uvarint()
			return m, c, nil
		},
		Renumber: func(m *toyLockMessage, _, _ int, f func(owner int, number uint64) uint64) { m.At = f(0, m.At) },
	}
}
