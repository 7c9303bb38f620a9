// Package explore visits every state that a few peers of a pure core, the very code that runs in
// production, can get into: all interleavings of what the peers may do, of deliveries, and of faults
// at any moment, within the bounds of a [Scope]. It says what was violated, with the shortest way to
// it, and what it has seen, never more.
//
//	Scope ──► moves ──► apply ──► renumber ──► encode ──► seen before?
//	            ▲        Core.Step                            │ no
//	            └────────────── the next level ◄──────────────┘
//
// # States
//
// A state is what each peer knows, what is on the way from each peer to each other one, and what is left
// of the bounds, see [world]. Encoded, equal states are equal bytes: the cores' Code sees to that.
// Of a state that was looked at, 128 bits of hash are kept, the move that led there, and where its
// own moves lead: about 200 bytes. That two of 80 million states have the same hash, so that one is not
// looked at, has a probability of 10^-23.
//
// Rounds grow without end but matter only by their order ([peercore.Numbered]), so after every step
// those of one owner that are still mentioned are numbered anew without gaps: endless cycles so have
// finitely many states. Lamport's clocks and the tokens of a quorum count up from numbers of others, and
// stay as they are.
//
// The search is breadth-first, and does one thing after the other: the same scope always gives the
// same numbers, verdict and trace.
//
// # What production does
//
// A peer that crashes starts again with what its core stores. Not modelled are other resources, resources
// that are forgotten while no peer wants them, and clocks: a timer goes off whenever the order of leases and
// votes allows. For clocks see package sim.
//
// # Checks
//
//   - Mutual exclusion: in no state two peers hold, by what their clients believe ([peercore.Client]).
//   - No client is left in the dark: after every step its belief and the core's state are the same.
//   - No stuck state: from every state, each waiting peer has a way to hold the lock by deliveries,
//     releases, pauses and leases that run out alone. By default this is asked of the states in which
//     all links are up; [StuckAnywhere] asks it of all states and counts links that come back among the
//     ways.
//   - Bounded bypass: a waiting peer is passed by others at most so often.
package explore
