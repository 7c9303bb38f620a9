package quorum

import (
	"fmt"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Algorithm is how peers with these options are made, for a shell, explorations and
// simulations. Spec is left to the caller. There is no Renumber: a new token is one
// above the highest that was seen, so more matters of tokens than their order.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	config := func(self int, peers peercore.Set, part Part) *Config {
		return &Config{Self: self, Peers: peers, Part: part, Options: o}
	}
	return peercore.Algorithm[State, Message]{
		New: func(self int, peers peercore.Set, amnesic bool) State {
			return New(config(self, peers, Whole), amnesic)
		},
		Control: func(self int, peers peercore.Set, amnesic bool) (control, idle State) {
			return New(config(self, peers, Control), amnesic), New(config(self, peers, Resource), amnesic)
		},
		Opens: func(m Message) bool { return m.Kind == MyLock },
		Append: func(b []byte, m Message) []byte {
			flag := m.Used || m.Recovering
			return peerlock.Fields{Kind: uint8(m.Kind), Flag: flag, Numbers: [2]uint64{m.Token, m.Seq}}.Append(b)
		},
		Decode: func(b []byte) (Message, []byte, error) {
			f, rest, err := peerlock.Cut(b, uint8(Floor))
			m := Message{Kind: MessageKind(f.Kind), Token: f.Numbers[0], Seq: f.Numbers[1]}
			m.Used, m.Recovering = f.Flag && m.Kind == LockReset, f.Flag && m.Kind == Floor
			if err == nil && m.Kind == MyLock && m.Token == 0 {
				err = fmt.Errorf("token 0: %w", peerlock.ErrMalformed)
			}
			return m, rest, err
		},
	}
}
