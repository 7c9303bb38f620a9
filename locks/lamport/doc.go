// Package lamport is Lamport's mutual exclusion algorithm ("Time, Clocks, and the
// Ordering of Events in a Distributed System", 1978) as a lock for a small cluster of
// peers, and that of Ricart and Agrawala ("An Optimal Algorithm for Mutual Exclusion in
// Computer Networks", 1981), which saves its releases: no server and no lease time.
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. Requests are served in the order of their timestamps: one that others
// have seen is not passed. An acquisition takes one round trip when no other peer
// wants the lock, one delay after a release, and 3(N-1) messages, or 2(N-1).
//
// They need every peer: one that is dead or cut off stops all others, until it is
// back; [locks.Lease].Lost is closed by Close alone. With detect=on a peer whose
// connection is lost is left out, and then a partition splits the lock, also one
// that cuts only some of the connections. There is no fencing token.
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
// Only an Ack that names the very request counts as heard, or a Release of a clock that is not
// behind it: where peers restart, the original's other signs can come from a holder.
//
// Ricart and Agrawala ([Options].Defer): a request is answered at once, with a Reply that
// names it, unless the peer that is asked holds the lock, or wants it and asked earlier: then
// it defers the answer until it has left, or has given up.
//
// # Lost connections
//
// With the connection goes all that was known of the peer: its request, and that it
// was heard. A new connection starts with the request that is outstanding, if any.
// The clock of a peer that has restarted starts at zero, so its request may be earlier than
// that of a holder, which leaves it unanswered until its own leaving answers it.
package lamport
