// Package twophase is a lock by two-phase commit for a small cluster of peers, each
// of which is a coordinator of its own acquisitions and a participant of all. Who
// wants a resource prepares a reservation everywhere, holds when all peers voted yes,
// and aborts and tries again after a random time when one did not. See the
// sub-package core.
//
// # What it promises
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. An acquisition takes one round trip when nobody else wants the lock, and
// 4(N-1) messages: Prepare, Yes, Commit, Release. Every attempt that is refused costs
// up to 3(N-1)-1 more: Prepare, the votes, Abort.
//
// # What it does not
//
// It needs every peer. A participant that voted yes and lost its coordinator is
// blocked until that one is back, because it cannot know what was decided; a
// coordinator that comes back without its memory aborts what it had prepared or
// held. The undo log is in memory: it outlives connections, not the process.
// [locks.Lease].Lost is closed by Close alone. Waiters of different peers are not
// served in any order, and nothing bounds how often one of them is passed; with
// fair=on (the default) a peer that held while others waited at least pauses as they
// do before it asks again, and with fair=off it can keep them out for as long as it has
// waiters of its own. There is no fencing token.
package twophase
