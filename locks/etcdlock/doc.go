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
// by a watch, which is served every 100 ms. A connection that is silent, not broken, is
// noticed by requests after Options.Timeout, but by a watch only after gRPC's least keepalive, 10 s.
//
// With guard=on a lease also keeps the resource's value in etcd, where a write is a
// transaction that compares the create revision of the lease's key: the token is checked by
// the service that gave it. Without, whoever is written to must check the token.
//
// Outcomes of the client library's errors. Surely not held: what comes before the key is
// asked for (no lease granted), and what was answered, once the key's deletion was confirmed.
// Unknown: every error of the transaction that puts the key (gRPC's Unavailable,
// DeadlineExceeded and Canceled, etcd's "request timed out" and "no leader": it may have been
// applied, or be applied later), also where the deletion is confirmed. A session with
// such a transaction takes no more claims and ends with its last lease, and the key with it.
package etcdlock
