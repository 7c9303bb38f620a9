// Package core is the mutual exclusion algorithm of Ricart and Agrawala ("An Optimal
// Algorithm for Mutual Exclusion in Computer Networks", 1981) as a pure state
// machine: one [State] is what one peer knows of one resource, and [State.Step] is
// the whole algorithm.
//
//	NONE ── request: Request(t) to all ──► WAITING ── Reply(t) from all ──► HOLDING
//	 ▲                                        │                                │
//	 └──────────── give up, release: Reply to all that were deferred ◄─────────┘
//
// A request is answered at once, unless the peer that is asked holds the lock, or
// wants it and asked earlier: then it defers the answer until it has left. Earlier
// means a smaller timestamp, or a smaller rank where they are equal. There is no
// release message; the deferred Reply is it.
//
// Whoever gives up sends what it deferred, as if it had held. Answers to its own
// request may still come: a Reply names the request that it answers, and one that
// answers no outstanding request is ignored. A new Request of a peer takes the place
// of a deferred one.
//
// Messages between two peers must arrive in the order in which they were sent.
//
// # Lost connections
//
// With the connection goes all that was known of the peer: what it replied, and what
// was deferred. A new connection starts with the request that is waiting, if any. A
// peer that has restarted fits in, though its clock starts at zero: who holds defers
// every request, early or late.
//
// Without [Config].Detect every peer is needed: one that is gone blocks the lock.
// With it, only those that are connected are; then a partition splits the lock.
package core
