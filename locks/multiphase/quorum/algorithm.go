package quorum

import (
	"fmt"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Algorithm describes peers to a shell, explorations and simulations. The caller sets Spec. There is
// no Renumber: a new token is one above the highest seen, so not only the order of tokens matters.
func Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		New: func(self int, peers peercore.Set) State {
			return State{cfg: &config{self: self, peers: peers}}
		},
		Opens: func(m Message) bool { return m.Kind == MyLock },
		Append: func(b []byte, m Message) []byte {
			return peerlock.Fields{Kind: uint8(m.Kind), Flag: m.Used, Numbers: [2]uint64{m.Token, m.Seq}}.Append(b)
		},
		Decode: func(b []byte) (Message, []byte, error) {
			f, rest, err := peerlock.Cut(b, uint8(Stale))
			m := Message{Kind: MessageKind(f.Kind), Token: f.Numbers[0], Seq: f.Numbers[1]}
			m.Used = f.Flag && m.Kind == LockReset
			if err == nil && m.Kind == MyLock && m.Token == 0 {
				err = fmt.Errorf("token 0: %w", peerlock.ErrMalformed)
			}
			return m, rest, err
		},
	}
}
