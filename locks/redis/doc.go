// Package redis is the lock on one Redis server: SET key token NX PX ttl, released by a
// compare-and-delete and extended by a compare-and-pexpire, both in Lua ("Distributed
// Locks with Redis", redis.io, "Correct implementation with a single instance"). It is
// Redlock with one instance, and runs on the machine of package redlock; what differs, the
// variants, is here. There is no fencing token.
//
//	release=naive   a DEL that compares nothing: a control
//	setnx-getset    SETNX of a time of expiry, GET, and GETSET where that is over; the
//	                clients' clocks decide ("Distributed locking with Redis", on SETNX)
//	watch           WATCH, GET, MULTI, SET, EXEC: optimistic, nobody holds anything before
//	                EXEC, and an aborted transaction is a retry (there, on WATCH)
//	pubsub          waiters listen for a message that the release script publishes, and
//	                also try when the lease should have run out
//	                (https://channel.io/ko/blog/distributedlock_2022_backend)
//	replica         the server is the primary that Sentinels name, copied asynchronously to
//	                replicas ("Distributed Locks with Redis", on why failover is not enough);
//	                wait=1 sends WAIT 1 after SET and after each extension
//
// Known weaknesses, each of which weakness_test.go shows on a real server:
//
//   - The server is one: down, nobody gets anything; without its memory, two hold.
//   - A holder that stops for longer than its lease acts as if it held.
//   - release=naive: such a holder's DEL frees the next one's hold for a third.
//   - setnx-getset: a client whose clock is ahead takes what is held; a loser's GETSET
//     overwrites the winner's value, whose lease then ends as not held, and the key stays
//     for the loser's time; there is no extension, and a key nobody wants stays for ever.
//   - watch: every retry costs round trips and a connection, and all but one abort.
//   - replica: what the primary had not copied when it died is granted again by the replica
//     that takes its place, and an old primary that Sentinels cannot reach goes on granting.
//     With wait=1 no lock counts as held before a replica has it in its memory; but that may
//     forget, or another one be promoted, and without a replica no client gets anything.
//   - pubsub: a release wakes everybody for one grant, in every process that ever waited. A
//     user who may not publish or subscribe releases and polls all the same.
//   - A server with a memory limit (maxmemory) whose maxmemory-policy is not noeviction may
//     evict the key of a held lock, and nothing shows it.
//
// What an error of go-redis means (redlock.Ran). Surely not done: a dial that failed, a new
// connection over which the scripts could not be loaded, no connection from the pool in time, one
// that broke within WATCH and GET, which change nothing; every redis.Error, as the server refused
// (LOADING, OOM, READONLY, MISCONF, NOREPLICAS, EXECABORT). redis.Nil and TxFailedErr are answers.
// Unknown: every other error, be it a timeout, EOF or a reset. Nothing is ever sent twice but a
// deletion.
package redis
