package quorum

import "locklab/locks/peerlock/peercore"

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
		Opens:  Opens,
		Append: Append,
		Decode: Decode,
	}
}
