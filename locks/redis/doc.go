// Package redis is the lock on one Redis server: SET key token NX PX ttl, released by a
// compare-and-delete and extended by a compare-and-pexpire, both in Lua ("Distributed
// Locks with Redis", redis.io, "Correct implementation with a single instance"). It is
// Redlock with one instance, and runs on the machine of package redlock. This package adds
// the variants. There is no fencing token.
//
//	release=naive   a DEL without a comparison: a control
//	setnx-getset    SETNX of the expiry time, GET, and GETSET once that has passed; the
//	                clients' clocks decide ("Distributed locking with Redis", on SETNX)
//	watch           WATCH, GET, MULTI, SET, EXEC: optimistic; an aborted transaction is
//	                retried (same source, on WATCH)
//	pubsub          waiters listen for a message that the release script publishes, and
//	                also try when the lease should have expired
//	                (https://channel.io/ko/blog/distributedlock_2022_backend)
//	replica         the server is the primary that Sentinels name, replicated asynchronously
//	                ("Distributed Locks with Redis", on why failover is not enough);
//	                wait=1 sends WAIT 1 after SET and after each extension
//
// Known weaknesses, which weakness_test.go shows on a real server:
//
//   - There is one server: while it is down no client acquires; if it loses its memory, two hold.
//   - A holder that is paused for longer than its lease acts as if it held.
//   - release=naive: such a holder's DEL deletes the next holder's key, so a third can hold.
//   - setnx-getset: a client whose clock is ahead takes a held lock. A losing client's GETSET
//     overwrites the winner's value: the winner's lease ends as not held, and the key stays until the loser's
//     expiry. Leases are not extended, and an expired key stays until another client wants it.
//   - watch: every retry costs round trips and a connection, and all but one abort.
//   - replica: a promoted replica grants again the locks that were not replicated, and an old
//     primary that Sentinels cannot reach goes on granting. With wait=1 a lock is held only once
//     a replica has it in memory; but that replica may restart empty, or another be promoted, and
//     without a replica no client acquires.
//   - pubsub: one release wakes all waiters of all processes. A Redis user without the right
//     to publish or subscribe still releases, and polls.
//   - A server with a memory limit (maxmemory) whose maxmemory-policy is not noeviction may
//     silently evict the key of a held lock.
//
// Outcomes of go-redis's errors (redlock.Ran). Surely not done: a failed dial; a new connection that
// could not load the scripts; no connection from the pool in time; a failure within WATCH and GET,
// which change nothing; and every redis.Error, since the server refused (LOADING, OOM, READONLY,
// MISCONF, NOREPLICAS, EXECABORT). redis.Nil and TxFailedErr are answers. Unknown: every other error,
// such as a timeout, EOF or a reset. Only deletions are ever sent twice.
package redis
