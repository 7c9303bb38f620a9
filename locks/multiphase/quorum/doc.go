// Package quorum is the multiphase lock that is safe under partition, as a pure state
// machine: one [State] is what one peer knows of one resource, and [State.Step] is the
// whole algorithm. It has no goroutine, clock, socket or map.
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
// resource. It gives the vote to the highest-ranking waiting request, and asks for it back
// (Recall) when a higher-ranking request comes. A peer that still solicits returns the vote
// (Return); one that has acquired does not. Acquiring needs a majority of all configured
// peers, so two can't hold at once, however the network is divided, and a minority waits.
// A minority does not even ask, because its requests would keep votes from peers that can win.
//
// A hold ends in three ways, and the client knows of each: it releases, it is told Lose
// when its lease is over, or its process ends. If a holder's own vote was given to another
// request and comes back, the hold does not change: it rests on the votes of others.
//
// # Tokens
//
// Every round has a [Token]: a counter one above the highest that its peer has seen, and the
// peer's rank. It distinguishes the answers to different rounds, and is the fencing token of
// the grant. A voter remembers the highest token that may have been used with its vote, and
// refuses every token that is not higher (Stale). Two majorities share a voter, so the
// tokens of grants grow.
//
// # Lost connections, and leases
//
// A vote survives the connection to the peer that has it. That peer can free it, by LockReset,
// Return or a request with another token. Otherwise it expires: a peer solicits or holds for at most
// one Lease, counted from its request, and a voter keeps its vote for longer than that, counted from
// when it received the request ([peercore.Vote]). A holder renews in time ([peercore.Renew]). Once
// a majority has answered that very renewal, the lease counts from when the renewal was sent, and
// the next may be sent. A round that ends with its lease is repeated with a new token.
//
// If lease timing is violated (a peer was suspended without noticing, a clock ran too fast),
// two peers can hold at once, and the later grant can have the lower token. No two grants have
// the same token, so the protected resource must refuse tokens below one that it has seen. Lose
// and the LockReset that frees the votes are one step, so the holder has only as long to notice
// as a message and a vote take.
//
// # Crashes
//
// A peer stores every vote, to others or to itself, before any consequence of it leaves the
// peer ([peercore.Store]), with the highest token that may have been used with the vote and the
// highest seen. After a crash, a vote for another peer lasts a whole Vote timer from the restart, and
// the own hold is over. Tokens grow, even if all peers crash at once.
//
// A peer that has lost its disk must not start again: it could vote twice. The others go on while
// they are a majority. To replace it, end all peers and found the cluster anew.
//
// # Fairness
//
// The highest-ranking request goes first. A soliciting peer is passed only by those that rank
// higher, but any two others can pass a lurker again and again. A round is repeated if a higher
// token was granted meanwhile, or if it outlives its lease. So starvation is possible.
package quorum
