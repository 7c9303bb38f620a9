// Package redlock is the Redlock algorithm on independent Redis primaries, after
// "Distributed Locks with Redis" (redis.io), as a library.
//
// A client draws a random token, asks all N instances to SET the resource's key to
// it, if there is none, with a time to live, and holds the lock if a quorum of
// N/2+1 agreed and time is left: TTL, less the time that the asking took, less an
// allowance for clocks. Otherwise it deletes what it may have set, everywhere, and
// tries again.
//
//	Acquire, Release       callers
//	   lease ── machine    one attempt, then the lease; the algorithm, pure (core.go)
//	   lane                commands of all callers, pipelined on one connection
//	   redis-server x N
//
// All N are asked in every attempt, also one after the other, and whoever waits tries
// again after a random delay. Once all are asked, a decision falls as soon as it is
// certain. A late yes after a denial is deleted in the background.
//
// An extension moves the end of a key that still has the token, and sets none: that is the
// letter of the document. A command that a cut network delivers late would else block the
// instance for a hold that is no more. So a hold that is extended for long is lost once a
// majority of the instances lost its key, before the last of them grants again if that stays
// away for a TTL (restart_delay), or keeps its data (persistence).
//
// What it is worth: a holder that stops longer than the validity, a quorum instance
// that loses its memory within TTL, and clocks that run away at several instances
// each let a second client in. There is no fencing token to catch that.
package redlock
