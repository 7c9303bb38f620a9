// Package twophase is a lock by two-phase commit for a small cluster of peers, each
// of which is a coordinator of its own acquisitions and a participant of all. A peer that
// wants a resource prepares a reservation everywhere, holds when all peers voted yes,
// and aborts and tries again after a random time when one did not (J. Gray, "Notes on Data
// Base Operating Systems", 1978).
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. An acquisition takes one round trip when no other peer wants the lock, and
// 4(N-1) messages: Prepare, Yes, Commit, Release. Every attempt that is refused costs
// up to 3(N-1)-1 more: Prepare, the votes, Abort.
//
// It needs every peer, and a participant that voted yes and lost its coordinator is
// blocked until that one is back. [locks.Lease].Lost is closed by Close alone. Waiters of
// different peers are not served in any order, and nothing bounds how often one of them is
// passed. There is no fencing token.
//
// # The state machine
//
// One [State] is what one peer knows of one resource, and [State.Step] is the whole
// algorithm. Every peer plays two parts. Messages between two peers must arrive in the
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
// A participant votes Yes only where nothing was reserved, so its undo log is one
// fact, "was free", and a reservation that is committed is kept just as one in doubt.
//
// A coordinator that gets a No aborts, once all have voted, and tries again after a
// random time, which grows with every attempt ([peercore.Pause]). It does not start, and
// sends nothing, while its own participant is reserved for another peer or while a peer is
// missing.
//
// A coordinator that asks again right after its release would nearly always win
// against those that only then begin to pause. So a vote says whether its sender waits
// itself (YesWaiting), and a peer that held while others waited pauses as they do, unless
// fair=off ([Options].Greedy).
//
// # Lost connections
//
// A participant that has voted Yes and loses its coordinator keeps the reservation and
// votes No to all others until the coordinator is back. Then it asks (Inquire). The
// coordinator answers Commit if that round still holds and otherwise Abort, also if it has
// restarted and knows nothing of it. A coordinator that loses a participant while it
// prepares aborts, and waits for all to be connected. One that holds goes on holding; its
// own participant protects it against a peer that comes back without its memory.
package twophase
