// Package quorum is the multiphase lock that is safe under partition, as a pure state
// machine: one [State] is what one peer knows of one resource, and [State.Step] is the
// whole algorithm. There is no goroutine, clock, socket or map inside.
//
//	        request, own vote given              own vote free and not waited for,
//	        away or waited for                   most peers connected
//	NONE ───────────────────────────► LURKING ──────────────────────────► SOLICITING
//	 ▲ │   request: own vote to itself, MyLock(t) to all peers            ▲ │    │
//	 │ └──────────────────────────────────────────────────────────────────┘ │    │
//	 │                                       ▲   Stale, or lease over:      │    │ YourLock(t)
//	 │   release, give up, lease over:       └──── LockReset(unused) ───────┘    │ from a majority
//	 └───────── LockReset(used or not) ─────────────────────── ACQUIRED ◄────────┘
//
// Peers have fixed, distinct ranks; rank 0 is the highest. Each has one vote for each
// resource. It gives it to one request at a time, the highest-ranking of those that wait
// for it, and asks for it back (Recall) when a higher-ranking one comes. A peer that still
// solicits returns it (Return), one that has acquired does not. A majority of all configured
// peers is needed to acquire, so two can't hold at once, however the network is divided,
// and a minority waits. It does not even ask: votes that can't win are in the way of others.
//
// A hold ends in three ways, and the client knows of each: it releases, it is told Lose
// when its lease is over, or its process ends. That an own vote which was lent comes back
// changes nothing about a hold by the votes of others.
//
// # Tokens
//
// Every round has a [Token]: one above the highest counter that its peer has heard of,
// and the peer's rank. It tells the answers to different rounds apart, and is the fencing
// token of the grant. A voter remembers the highest token that may have been used by its
// vote, and refuses all that are not above (Stale). Two majorities have a voter in
// common, so the tokens of grants grow.
//
// # Lost connections, and leases
//
// A vote survives the connection to the peer that has it. Only that peer can free it (by
// LockReset, by a request with another token, by Return), or time: a peer solicits or holds
// for no longer than its Lease, counted from when it asked, and a voter keeps its
// vote for longer than that, counted from when it was asked ([peercore.Vote]). A holder
// asks again in time ([peercore.Renew]). The lease then counts from when that was sent,
// once a majority has answered that very renewal; the next one is not sent before.
// A round that is not through when its lease ends is tried again with a new token.
//
// If lease timing is violated (a peer was suspended without noticing, a clock ran too
// fast), two peers can hold at once, and one that was granted the lock later can have the
// lower token. But no two grants have the same: what the lock protects must refuse
// tokens below one that it has seen. Lose and the LockReset that frees the votes are one
// step, so a holder has as long to notice as a message and a vote take.
//
// # Crashes
//
// Every vote, to others or to oneself, is stored before anything that follows from it leaves
// the peer ([peercore.Store]), with the highest token that may have been used by the vote and
// the highest that was seen. A peer that crashed goes on with them: a vote for another runs for
// a whole Vote timer from the restart, its own hold is over, and tokens grow, also when all
// peers crash at once.
//
// A peer that has lost its disk must not start again: it could vote twice. The others go on while
// they are a majority. To replace it, end all peers and found the cluster anew.
//
// # Fairness
//
// The highest-ranking request goes first. A peer that solicits is passed only by those that
// rank higher, but a lurker can be passed again and again by any two others. And a round
// begins again if a higher token was granted meanwhile, or if it outlives its lease. So
// nothing here rules out starvation.
package quorum
