// Package lamport has two locks for a small cluster of peers, without a server or a lease time:
// Lamport's mutual exclusion algorithm ("Time, Clocks, and the Ordering of Events in a Distributed
// System", 1978), and that of Ricart and Agrawala ("An Optimal Algorithm for Mutual Exclusion in
// Computer Networks", 1981), which needs no release messages.
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. Requests are served in the order of their timestamps: no later request passes one
// that all peers have seen. An acquisition takes one round trip when no other peer wants the
// lock, or one delay after a release. It costs 3(N-1) messages, or 2(N-1) with Ricart and Agrawala.
//
// They need every peer: one that is dead or cut off blocks all others until it is back;
// only Close closes [locks.Lease].Lost. With detect=on the others go on without a peer whose
// connection is lost, so a partition splits the lock, even if it cuts only some connections.
// There is no fencing token.
//
// # The state machine
//
// One [State] is what one peer knows of one resource, and [State.Step] is the whole
// algorithm. Messages between two peers must arrive in the order in which they were sent.
//
//	NONE ── request: Request(t) to all ──► WAITING ── first in the queue, and ──► HOLDING
//	 ▲                                        │       all were heard since           │
//	 └──────────── give up, release: Release to all ◄───────────────────────────────┘
//
// Lamport: every peer keeps a queue of the requests of all, ordered by timestamp, and by
// rank where timestamps are equal. A request is acknowledged at once, whatever the phase.
// A peer that is first in its own queue, and has heard from every other one since, holds.
// Only an Ack that names the very request counts as heard, or a Release with a clock that is not
// behind it. The original counts any later message, but a restarted peer may receive one from a holder.
//
// Ricart and Agrawala ([Options].Defer): a peer answers a request at once, with a Reply that names
// it, unless it holds the lock, or wants it and asked earlier. Then it replies when it releases or gives up.
//
// # Lost connections
//
// With the connection, a peer forgets the other's request and its answer. A new connection starts with
// the outstanding request, if any. The clock of a restarted peer starts at zero, so its request may be
// earlier than that of a holder. The holder answers such a request only when it releases.
package lamport
