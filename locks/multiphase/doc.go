// Package multiphase is a peer-to-peer lock with fixed priorities: no server, no
// quorum, no lease time. Each peer of the cluster has a rank. A peer that wants a
// resource asks all others for consent (MyLock, YourLock) and tells them when it is done
// (LockReset). Source: the document Multiphase Lock. The algorithm is in the sub-package
// core, a pure state machine with a diagram; the shell in peerlock runs it over TCP.
//
// Waiters of one Locker are served in order of arrival, each by its own acquisition. With the
// variant multiphase:cohort one acquisition serves up to 16 of them that begin within 50 ms, before other
// peers have their turn. This saves messages if many callers of one process want the same
// resource, and makes the other peers wait longer.
//
// The variant multiphase:quorum is another algorithm, see package quorum: a majority must vote for
// the holder. It keeps votes on disk, in Config.StateFile, which a peer needs to start again.
//
// # Guarantees
//
// At most one peer holds a resource, also when peers crash, restart, lose single connections or
// give up at any moment. This holds as long as no live peer is considered gone: there is no
// partition, and no peer is paused for too long (see below). A peer that starts, or starts again,
// acquires nothing before it has been connected to all others at once. An uncontended acquisition
// takes one round trip and, with the release, 3(N-1) messages. With fair=on a waiting peer is
// passed at most 2(N-1) times.
//
// # Limits
//
// A peer that has once been connected to all others takes the lock alone when it has lost all
// connections. So a partition splits the lock: one holder on each side, while it lasts. For the same
// reason a holder whose peers vanish keeps holding, and only Close closes [locks.Lease].Lost. There
// is no fencing token: both sides of a partition could not agree on one.
//
// Peers give up a connection after 400 ms of silence, later on a busy machine. If a holder is paused for
// longer, a second one holds, and the first is not told when it resumes. If another peer is paused for
// longer, it loses its connections as it resumes: until they are back it takes every lock that it wants.
package multiphase
