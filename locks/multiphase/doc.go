// Package multiphase is a peer-to-peer lock with fixed priorities: no server, no
// quorum, no lease time. Each peer of the cluster has a rank. A peer that wants a
// resource asks all others for consent (MyLock, YourLock) and says when it is done
// (LockReset). Source: the document Multiphase Lock. The algorithm is in the sub-package
// core, a pure state machine with a diagram; the shell in peerlock runs it over TCP.
//
// Waiters of one Locker are served in order of arrival, each by an acquisition of its
// own. With the variant multiphase:cohort one acquisition serves up to 16 of them (or
// as many as begin within 50 ms) before the peers have their turn: far fewer messages
// where many callers of one process want the same, and longer waits for the others.
//
// The variant multiphase:quorum is another algorithm, see package quorum: a majority must
// vote for the holder. It keeps votes on disk, in Config.StateFile, which a peer that is started
// again needs.
//
// # What it promises
//
// At most one peer holds a resource, also when peers crash, restart, lose single
// connections or give up at any moment, as long as no peer is taken for gone that is
// not: no partition, and no peer that stands still for longer than the others'
// patience, see below. Nothing is granted before all peers have once been connected at
// once, to a peer that was started again neither. An uncontended acquisition takes one
// round trip and, with the release, 3(N-1) messages. With fair=on a waiting peer is passed
// at most 2(N-1) times.
//
// # What it does not
//
// A peer without connections takes the lock alone, if it has once been
// connected to all others. So a network partition splits the lock: one holder on
// each side, for as long as it lasts. For the same reason a holder whose peers
// vanish keeps holding, and [locks.Lease].Lost is closed by Close alone. There is
// no fencing token: nothing that all sides of a cut could agree on would grow. A
// peer that stands still for longer than its peers' patience (400 ms, more
// on a busy machine) is passed over: if it held, two hold when it goes on, and it is not
// told. If it held nothing, its connections are lost as it goes on, and until they are back
// it takes whatever it waits for, or asks for, alone.
package multiphase
