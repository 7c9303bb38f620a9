// Package explore visits every state that a few peers of a pure core, the very code
// that runs in production, can get into: all interleavings of what the peers may do,
// of deliveries, and of faults at any moment, within the bounds of a [Scope]. It says
// what was violated, with the shortest way to it, and what it has seen, never more.
//
//	Scope ──► moves ──► apply ──► renumber ──► intern ──► store: seen before?
//	            ▲        Core.Step                             │ no
//	            └────────────── the next level ◄───────────────┘
//
// # States
//
// A state of the system consists of parts: what each peer knows, what is on the way
// from each peer to each other one, and what is left of the bounds. Each part is
// interned, so a state is a few small numbers, packed in about twenty bytes; the
// parts are what the cores' AppendEncode made of them, so equal numbers mean equal
// states. A hash decides where to look, never whether a state is new, unless
// [Scope].Deep asks for it: then the hash is all that is kept, in eight bytes, and
// [Result].Missed bounds the probability that a state was taken for another one.
//
// Rounds and timestamps grow without end but matter only by their order
// ([peercore.Numbered]), so after every step those of one owner that are still
// mentioned are numbered anew without gaps: endless cycles so have finitely many
// states. Where peers count up from numbers of others (Lamport's clocks), the width
// of a gap matters too: gaps are kept up to a width that the bounds can't exceed, or,
// without bounds, up to sixteen, and [Result].Shortened says whether there were wider
// ones.
//
// # Search
//
// The search is breadth-first, and does one thing after the other: the same scope always
// gives the same numbers, verdict and trace, and ends at the same state where a bound of
// states ends it.
//
// # What production does
//
// Where peers recover from the loss of their memory with control states
// ([peercore.Algorithm].Control), and somebody crashes, each peer has one beside its
// state of the resource, as in package peerlock: what control states say travels on the
// same connections and is handled side by side with the rest. A resource that nobody
// wants can be forgotten ([Scope].Forgets): then its peer drops what means nothing to
// somebody who keeps no state, sends nothing when connections come, and starts again
// from Reset, above the number that it had. Not modelled are other resources, with whose
// names the memory for such numbers is shared, clocks, and a control state that hears
// of a connection at another moment than its resource.
//
// # Checks
//
//   - Mutual exclusion: in no state two peers hold. Whether a peer waits or holds is what
//     its client believes ([peercore.Client]), by what it did and was told; the core's own
//     state does not count.
//   - No client is left in the dark: after every step its belief and the core's state are
//     the same.
//   - No stuck state: from every state, each waiting peer has a way to hold the lock by
//     deliveries, releases, pauses and leases that run out alone, without another
//     request, give-up or fault. By default this is asked of the states in which all
//     links are up, since most algorithms wait, by their nature, for a peer that is
//     gone; [StuckAnywhere] asks it of all states and counts links that come back among
//     the ways. The check goes through the levels backwards and expands once more the
//     states in which somebody waits, until nothing changes.
//   - Bounded bypass: a waiting peer is passed by others at most so often.
package explore
