// Package multiphase is a peer-to-peer lock with fixed priorities: no server, no
// quorum, no lease time. Each peer of the cluster has a rank; whoever wants a
// resource asks all others for consent (MyLock, YourLock) and says when it is done
// (LockReset). Source: the document Multiphase Lock.
//
//	        request, others outstanding            all of them reset
//	NONE ───────────────────────────────► LURKING ───────────────────► SOLICITING
//	 ▲ │   request, nobody outstanding: MyLock to all peers            ▲   │
//	 │ └───────────────────────────────────────────────────────────────┘   │
//	 │                                                  YourLock from all  │
//	 │     release, give up: YourLock to the remembered,                   ▼
//	 └──────────────── LockReset to all ◄──────────────────────────── ACQUIRED
//
// The algorithm is in the sub-package core, a pure state machine. The shell in
// peerlock runs it over a mesh of TCP connections, for as many resources as are wanted
// at the moment, and of the others only of the last few thousand, in case they come back. Who wants more than Config.Resources at
// once is refused, and who wants more while a peer has not read what it was sent
// (Config.Limits) waits: no limit ends a connection to a peer that is well. The program in
// examples/twoprocesses shows it between two processes.
//
// Waiters of one Locker are served in order of arrival, each by an acquisition of its
// own. With the variant multiphase:cohort one acquisition serves up to 16 of them (or
// as many as begin within 50 ms) before the peers have their turn: far fewer messages
// where many callers of one process want the same, and longer waits for the others.
//
// The variant multiphase:quorum (package quorum) keeps votes on disk, in Config.StateFile,
// with Quorum.Rules.Disk (store=disk). Without, or when a file is lost (Config.Lost), a peer
// that starts recovers from the others. When too many of them are gone for good for that,
// start each survivor once with Quorum.Rules.Unaided, and with Rules.Floor above all tokens
// that were used if something that the lock protects knows them.
//
// # What it promises
//
// At most one peer holds a resource, also when peers crash, restart, lose single
// connections or give up at any moment, as long as nobody is taken for gone who is
// not: no partition, and no peer that stands still for longer than the others'
// patience, see below. Nothing is granted before all peers have once been connected at
// once, to a peer that was started again neither, unless Options.Alone. An uncontended
// acquisition takes one round trip and, with the release, 3(N-1) messages. With
// fair=on a waiting peer is passed at most 2(N-1) times.
//
// # What it does not
//
// A peer that is connected to nobody takes the lock alone, if it has once been
// connected to everybody. So a network partition splits the lock: one holder on
// each side, for as long as it lasts. For the same reason a holder whose peers
// vanish keeps holding, and [locks.Lease].Lost is closed by Close alone. There is
// no fencing token: nothing that all sides of a cut could agree on would grow. A
// peer that stands still for longer than its peers' patience (see mesh.Timing) is
// passed over: if it held, two hold when it goes on, and it is not told. If it held
// nothing, its connections are lost as it goes on, and until they are back it takes
// whatever it waits for, or asks for, alone.
package multiphase
