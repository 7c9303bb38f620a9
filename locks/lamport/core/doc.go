// Package core is Lamport's mutual exclusion algorithm ("Time, Clocks, and the
// Ordering of Events in a Distributed System", 1978) as a pure state machine: one
// [State] is what one peer knows of one resource, and [State.Step] is the whole
// algorithm.
//
//	NONE ── request: Request(t) to all ──► WAITING ── first in the queue, and ──► HOLDING
//	 ▲                                        │       all were heard since           │
//	 └──────────── give up, release: Release to all ◄───────────────────────────────┘
//
// Every peer keeps a queue of the requests of all, ordered by timestamp, and by rank
// where timestamps are equal. A request is acknowledged at once, whatever the phase.
// Who is first in its own queue and has heard from every peer something that is
// later than its request knows that nobody can still come before it.
//
// What counts as heard is narrower here than in the original, at no cost in messages:
// an Ack that names the very request, or a Release of a clock that is not behind it.
// Another peer's later Request does not count, nor does an Ack of a request that was
// given up. With peers that restart both can come from one that already holds.
//
// Messages between two peers must arrive in the order in which they were sent.
//
// # Lost connections
//
// With the connection goes all that was known of the peer: its request, and that it
// was heard. A new connection starts with the request that is outstanding, if any.
// So nothing depends on what was lost, and a peer that has restarted and forgotten
// everything fits in, with one exception: its clock starts at zero, and its request
// may be earlier than that of a peer that already holds. The holder leaves such a
// request unanswered; the Release that it sends in the end answers it.
//
// Without [Config].Detect every peer is needed: one that is gone blocks the lock.
// With it, only those that are connected are; then a partition splits the lock.
package core
