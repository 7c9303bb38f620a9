// Package core is a lock by two-phase commit (J. Gray, "Notes on Data Base Operating
// Systems", 1978) as a pure state machine: one [State] is what one peer knows of one
// resource, and [State.Step] is the whole algorithm. Every peer plays two parts:
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
// The peer that wants the lock prepares a reservation at every participant, itself
// included, and holds when all of them voted Yes. Before it votes, a participant
// writes to its undo log what was there before; since it votes Yes only where nothing
// was, that log is one fact, "was free", and it is kept as long as the reservation is
// not committed. Abort applies it.
//
// A coordinator that gets a No aborts, once all have voted, and tries again after a
// random time, which grows with every attempt ([peercore.Pause]). It does not start, and sends nothing,
// while its own participant is reserved for somebody else or while a peer is missing.
//
// A coordinator that asks again right after its release would nearly always win
// against those who only then begin to pause. So a vote says whether its sender waits
// itself (YesWaiting), and who held while others waited pauses as they do
// ([Config].Fair). Still there is no order among the waiting, and no bound on how often
// one of them is passed.
//
// # Lost connections
//
// A participant that has voted Yes and loses its coordinator cannot know what was
// decided: it keeps the reservation and votes No to everybody else until the
// coordinator is back. Then it asks (Inquire). The coordinator answers Commit if that
// round still holds and otherwise Abort, also if it has restarted and knows nothing
// of it any more: what is not known to be committed is aborted. A coordinator that
// loses a participant while it prepares aborts, and waits for all to be connected. One
// that holds goes on holding; its own participant protects it against a peer that
// comes back without its memory. It would do so against participants that do not wait
// for a lost coordinator, too: where every peer is needed, being in doubt costs
// availability and buys nothing. It is kept, for it is what two-phase commit does.
//
// Messages between two peers must arrive in the order in which they were sent.
package core
