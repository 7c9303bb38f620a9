// Package redlock is the Redlock algorithm on independent Redis primaries, after
// "Distributed Locks with Redis" (redis.io), as a library.
//
// A client draws a random token and asks all N instances to SET the resource's key to it,
// if the key is not set, with a time to live. It holds the lock if a quorum of N/2+1 agreed
// and validity is left: TTL minus the time of asking, minus an allowance for clock drift.
// Otherwise it deletes its keys on all instances and tries again.
//
//	Acquire, Release       callers
//	   lease ── machine    one attempt, then the lease; the algorithm, pure (core.go)
//	   lane                commands of all callers, pipelined: one to each instance, two to the only one
//	   redis-server x N
//
// Every attempt asks all N instances, all at once or one after the other; then it is decided as soon as
// the result is certain. A waiting client tries again after a random delay. Keys of a late yes are
// deleted in the background.
//
// An extension moves the expiry of a key that still has the token, and never sets a key, as the document
// says: otherwise a delayed command could block an instance for a hold that has ended. So a hold is
// lost once no majority of the instances has its key. The holder learns of it before the last of
// them grants again, if that stays down for a TTL (restart_delay) or keeps its data (persistence).
//
// Limits: a second client gets in if a holder is paused beyond its validity, if an instance of the
// quorum loses its memory within TTL, or if the clocks of several instances run too fast. There is
// no fencing token to catch that.
package redlock
