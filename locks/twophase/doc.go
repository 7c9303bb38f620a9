// Package twophase is a lock by two-phase commit for a small cluster of peers. Each peer
// coordinates its own acquisitions and participates in all others. A peer that wants a
// resource prepares a reservation at all peers. It holds when all have voted yes; otherwise
// it aborts and tries again after a random time (J. Gray, "Notes on Data Base Operating
// Systems", 1978).
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. An acquisition takes one round trip when no other peer wants the lock, and
// 4(N-1) messages: Prepare, Yes, Commit, Release. Every refused attempt costs up to
// 3(N-1)-1 more: Prepare, the votes, Abort.
//
// It needs every peer, and a participant that voted yes and lost its coordinator is blocked
// until the coordinator is back. Only Close closes [locks.Lease].Lost. Waiters of different
// peers are served in no fixed order, and can starve. There is no fencing token.
//
// # The state machine
//
// One [State] is what one peer knows of one resource, and [State.Step] is the whole
// algorithm. Every peer has two roles. Messages between two peers must arrive in the
// order in which they were sent.
//
//	coordinator   NONE ─ request ─► WAITING ─ Prepare(r) to all ─► PREPARING
//	               ▲                   ▲                            │    │
//	               │                   └── Abort to the others ─ No ┘    │ Yes from all:
//	               └──────────── Release to all ─── HOLDING ◄────────────┘ Commit to all
//
//	participant   FREE ─ Prepare: Yes ─► PREPARED ─ Commit ─► COMMITTED
//	               ▲   (else: No)            │                    │
//	               └────── Abort ────────────┴───── Release ──────┘
//
// A participant votes Yes only if nothing was reserved, so it needs no undo log: an abort
// makes it free. It treats a committed reservation like one in doubt.
//
// A coordinator that gets a No aborts once all have voted, and tries again after a
// random time that grows with every attempt ([peercore.Pause]). It sends nothing while
// its own participant is reserved for another peer, or while a peer is missing.
//
// A coordinator that asks again right after its release would nearly always win against
// waiting peers, which only then begin to pause. So a vote says whether its sender waits
// itself (YesWaiting), and a peer that held while others waited pauses, too, unless
// fair=off ([Options].Greedy).
//
// # Lost connections
//
// A participant that has voted Yes and loses its coordinator keeps the reservation and
// votes No to all others until the coordinator is back. Then it asks (Inquire). The
// coordinator answers Commit if that round still holds, and otherwise Abort, also after a
// restart. A coordinator that loses a participant while it prepares aborts, and waits for all
// connections. One that holds goes on holding, even if a participant has restarted and forgotten
// its vote: the coordinator's own participant votes No to all others.
package twophase
