// Package core is the multiphase lock as a pure state machine: one [State] is
// what one peer knows of one resource, and [State.Step] is the whole algorithm.
// There is no goroutine, clock, socket or map inside; the same events in the same
// order give the same effects, so what runs in production is also what the tests
// explore exhaustively.
//
//	        request, others outstanding            all of them reset
//	NONE ───────────────────────────────► LURKING ───────────────────► SOLICITING
//	 ▲ │   request, none outstanding: MyLock to all peers              ▲   │
//	 │ └───────────────────────────────────────────────────────────────┘   │
//	 │                                                  YourLock from all  │
//	 │     release, give up: YourLock to the remembered,                   ▼
//	 └──────────────── LockReset to all ◄──────────────────────────── ACQUIRED
//
// Peers have fixed, distinct ranks; rank 0 is the highest. A peer that is asked
// with MyLock consents with YourLock, unless it holds the lock, or solicits
// itself and ranks higher, or sees a peer that the asking one does not: then it
// remembers the request and answers when that has changed. LockReset says that a
// round is over. Messages between two peers must arrive in the order in which
// they were sent for as long as they stay connected; after a lost connection
// both ends must see [Disconnect] before [Connect].
//
// The algorithm is the multiphase lock that was designed for a matchmaking
// service, with four holes closed, each by a rule that [Options] can take away
// again for study:
//
//   - RuleFlow: a lurker solicits when every outstanding request has been reset,
//     not at any LockReset;
//   - Rounds: a consent names the round that it answers, so that one for an
//     abandoned round is not counted;
//   - View: a peer consents only to peers that see all that it sees itself, so that one
//     peer never lets both sides of a cut in;
//   - Fair: a peer that was let past a waiting one waits for that one in turn, which
//     bounds how often a waiting peer is passed to 2(N-1).
//
// What no rule of this variant closes: a peer that loses all others takes
// the lock alone, so a network partition splits it. Not before it has met all peers at
// once, though: of four, two pairs that have found each other so far both wait. And
// while a single link is cut, its two ends wait, since the others see both.
package core
