// Package core is the multiphase lock as a pure state machine: one [State] is
// what one peer knows of one resource, and [State.Step] is the whole algorithm.
// It has no goroutine, clock, socket or map. The same events in the same order give
// the same effects, so the tests explore exhaustively the code that runs in production.
//
//	        request, others outstanding            all of them reset
//	NONE ───────────────────────────────► LURKING ───────────────────► SOLICITING
//	 ▲ │   request, none outstanding: MyLock to all peers              ▲   │
//	 │ └───────────────────────────────────────────────────────────────┘   │
//	 │                                                  YourLock from all  │
//	 │     release, give up: YourLock to the remembered,                   ▼
//	 └──────────────── LockReset to all ◄──────────────────────────── ACQUIRED
//
// Peers have fixed, distinct ranks; rank 0 is the highest. A peer answers MyLock with
// YourLock, its consent, except in three cases: it holds the lock, it solicits itself and
// ranks higher, or it is connected to a peer that the sender is not connected to. Then it
// remembers the request and answers when that has changed. LockReset says that a
// round is over. Messages between two connected peers must arrive in the order in which
// they were sent; after a lost connection both ends must see [Disconnect] before [Connect].
//
// The algorithm is the multiphase lock that was designed for a matchmaking service, with
// four holes closed, each by a rule that [Options] can switch off for study:
//
//   - RuleFlow: a lurker solicits when every outstanding request has been reset,
//     not at any LockReset;
//   - Rounds: a consent names the round that it answers, so that a late consent to an
//     abandoned round does not count;
//   - View: a peer consents only to peers that see all peers that it sees itself, so that
//     no peer consents to both sides of a cut;
//   - Fair: a peer that passed a waiting one then waits for it in turn, so a waiting
//     peer is passed at most 2(N-1) times.
//
// No rule of this variant closes one hole: a peer that loses all others takes the lock
// alone, so a network partition splits it. It does so only after it has once been connected
// to all peers at once. While a single link is cut, its two ends wait, since the others see both.
package core
