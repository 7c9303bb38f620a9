package peers

import "locklab/locks/peerlock/peercore"

// Whoever runs peers judges them by the following: in an exploration in every state, in a
// simulation whenever something happens, so that it knows since when, and whether leases
// excuse it.

// Holds says that the client of p believes that it holds. No two may do so at once.
func (p *Peer[S]) Holds() bool { return p.Client == peercore.ClientHolds }

// Waits says that the client of p believes that it waits.
func (p *Peer[S]) Waits() bool { return p.Client == peercore.ClientWaits }

// Told says that the client of p believes what the core does.
func (ps *Peers[S, M, P]) Told(p *Peer[S]) bool {
	core := P(&p.State)
	return p.Client.Knows(core.Waits(), core.Holds())
}

// Stale says that a token, if it is one, is not above the highest that was given before: a
// resource that checks tokens refuses it, or takes an old one for good.
func Stale(token, highest uint64) bool { return token != 0 && token <= highest }
