// Package etcdlock is a lock on etcd: the recipe of its own client, concurrency.Mutex.
//
// Algorithm: a client puts a key below the resource's prefix, under its lease (session). The
// key that was created first holds; everybody else waits until the key before its own is
// deleted. The fencing token is the key's create revision: grants follow it.
// Source: go.etcd.io/etcd/client/v3/concurrency, and the etcd documentation.
//
// Weaknesses: a lease can end while its holder believes that it holds (a pause, or the
// library's Session, whose Done closes up to half a second after the lease; here leases are
// counted from the moment of asking instead): only the token protects the resource. A leader
// that is stuck can extend leases that others have let end (etcd issue 15247), so an extension
// counts here only if a read afterwards finds that leader still leading. A Mutex
// knows sessions, not callers, so callers of one process queue here first. A waiter is woken
// by a watch from a past revision: etcd looks after such ones every 100 ms. A connection that is
// silent, not broken, is noticed by requests after Options.Timeout, but by a watch only when a
// ping is not answered: gRPC sends none before 10 s of silence, and waits 2 s. A member without
// a leader ends its watches, and the wait begins anew, behind all others.
//
// With guard=on a lease also keeps the resource's value in etcd, where a write is a
// transaction that compares the create revision of the lease's key: the token is checked by
// the service that gave it. Without, whoever is written to must check the token.
//
// Outcomes of the client library's errors. Surely not held: what comes before the key is
// asked for (no lease granted), and what etcd answered each time that it was asked for, or at last
// with ErrLeaseNotFound, once the key's deletion was confirmed. Unknown: every other error of the
// transaction that puts the key (gRPC's Unavailable, DeadlineExceeded and Canceled, etcd's
// "request timed out" and "no leader": it may have been applied, or be applied later), also where
// the library asked again and had an answer, and where the deletion is confirmed. A session with
// such a transaction takes no more claims, and is revoked after its last lease, or else ends by
// its time; until then the key of a claim that is over is deleted every Options.Timeout, and can
// block the resource in between. A release whose deletion was not answered, and a later one
// found no key, is ok while the session surely lives, as nobody else deletes the key, and
// unknown after that. A guarded write that was not answered is unknown.
package etcdlock
