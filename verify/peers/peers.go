// Package peers is the peers of one resource where they run without a network: in
// explorations, simulations and tests. It has them take events as the shell in peerlock
// does, and keeps what their clients believe, by which all is judged.
//
//	request, leave, message, connection, timer ──► Step ──► core
//	                                                │
//	          client: what it did, and was told ◄───┤
//	          Does: carries out what is asked for ◄─┘
//
// What lies between the peers belongs to whoever runs them: see ARCHITECTURE.md.
package peers

import "locklab/locks/peerlock/peercore"

// Peers has its peers take events.
type Peers[S, M any, P peercore.Core[S, M]] struct {
	Alg peercore.Algorithm[S, M]
	N   int
	// Does carries out the effects of a step, one after the other. was is what the client
	// believed before.
	Does func(i int, e *peercore.Effect[M], was peercore.Client)

	effects []peercore.Effect[M]
}

// Peer is what one peer knows of the resource, and what its client believes.
type Peer[S any] struct {
	State  S
	Client peercore.Client
}

// Start makes a peer of a new process, which is connected to nobody.
func (ps *Peers[S, M, P]) Start(i int) Peer[S] {
	return Peer[S]{State: ps.Alg.New(i, peercore.Others(ps.N, i))}
}

// Restart makes the peer of a new process in the place of old, which has crashed: with what the core had
// stored, if it stores anything, or without memory.
func (ps *Peers[S, M, P]) Restart(i int, old *Peer[S]) Peer[S] {
	fresh := ps.Start(i)
	peercore.Restart[S, M, P](&ps.Alg, &old.State, &fresh.State)
	return fresh
}

// Step has the core of p take an event. Its client then believes what it did, and what it
// was told.
func (ps *Peers[S, M, P]) Step(i int, p *Peer[S], ev peercore.Event[M]) {
	ps.effects = peercore.Run[S, M, P](&ps.Alg, &p.State, ev, ps.effects[:0])
	p.Client = p.Client.Does(ev.Kind)
	for k := range ps.effects {
		e := &ps.effects[k]
		was := p.Client
		p.Client = was.Hears(e.Kind)
		ps.Does(i, e, was)
	}
}

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
