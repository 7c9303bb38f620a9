package core

import "locklab/locks/peerlock/peercore"

// Algorithm is how peers with these options are made, for a shell, explorations and
// simulations. Spec is left to the caller.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		New: func(self int, peers peercore.Set, _ bool) State {
			return New(&Config{Self: self, Peers: peers, Options: o})
		},
		Opens:    func(m Message) bool { return m.Kind == MyLock },
		Append:   Append,
		Decode:   Decode,
		Renumber: RenumberMessage,
	}
}
