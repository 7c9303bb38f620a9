// Package etcdlock is the lock of etcd's own client, concurrency.Session and concurrency.Mutex, with
// the library's defaults, except for the TTL of sessions (60 s by default).
//
// Algorithm: a session is a lease at etcd that the library renews. A Mutex puts a key below the
// resource's prefix, under that lease. The owner of the oldest key holds; each other client waits
// until the key before its own is deleted. Source: go.etcd.io/etcd/client/v3/concurrency.
//
// A Mutex excludes sessions, not callers. So callers of this process queue locally, and each uses a
// session that no other call is using. The fencing token is the revision in Mutex.Header, and Lost is
// Session.Done. There is no Expires: the library does not say when its lease ends.
//
// Weaknesses, all of the library:
//   - Done closes up to a second after the lease has ended, or up to 5 s after the first renewal if that
//     is never answered; later still if a stuck leader renews leases that others have let expire (etcd
//     issue 15247). Meanwhile two clients act, and only the token protects the resource.
//   - A failed Lock does not say whether its key was put, so this package revokes the session's lease.
//   - Unlock does not say whether the key was still there.
//   - After its context has ended, a waiting Lock deletes its key without a timeout.
//   - A silent connection that stays open goes unnoticed: gRPC sends no pings by default.
//   - Watches of a member without a leader deliver nothing.
//   - Waiters watch from a past revision, which etcd serves every 100 ms.
//
// With guard=on a lease also keeps the resource's value in etcd: each write is a transaction with
// Mutex.IsOwner, so etcd itself refuses late holders. Otherwise the resource must check the token.
package etcdlock
