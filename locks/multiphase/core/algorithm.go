package core

import (
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Algorithm describes peers with these options to a shell, explorations and simulations.
// The caller sets Spec.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		New: func(self int, peers peercore.Set) State {
			return State{cfg: &Config{Self: self, Peers: peers, Options: o}, boot: peers.Empty()}
		},
		Opens: func(m Message) bool { return m.Kind == MyLock },
		Append: func(b []byte, m Message) []byte {
			return peerlock.Fields{Kind: uint8(m.Kind), Flag: m.Lurks, Numbers: [2]uint64{m.Round, m.View.Bits()}}.Append(b)
		},
		Decode: func(b []byte) (Message, []byte, error) {
			f, rest, err := peerlock.Cut(b, uint8(LockReset))
			m := Message{Kind: MessageKind(f.Kind), Lurks: f.Flag, Round: f.Numbers[0], View: peercore.SetOfBits(f.Numbers[1])}
			return m, rest, err
		},
		Renumber: func(m *Message, from, to int, f func(owner int, round uint64) uint64) {
			if m.Kind == YourLock {
				from = to
			}
			m.Round = f(from, m.Round)
		},
	}
}
