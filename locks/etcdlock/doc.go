// Package etcdlock is the lock of etcd's own client, concurrency.Session and concurrency.Mutex, with
// the library's defaults but for the TTL of sessions (60 s there).
//
// Algorithm: a session is a lease at etcd that the library renews. A Mutex puts a key below the
// resource's prefix, under that lease. The key that was created first holds; the others wait
// until the key before their own is deleted. Source: go.etcd.io/etcd/client/v3/concurrency.
//
// A Mutex knows sessions, not callers, so callers of this process wait in line, and each takes a
// session that no other call uses, and leaves it to a later one. The fencing token is the revision
// in Mutex.Header, Lost is Session.Done, and there is no Expires: the library does not say when
// its lease ends.
//
// Weaknesses, all of them the library's. Done closes up to a second after the lease has ended, up
// to 5 s after the first renewal if that is never answered, and later if a stuck leader extends
// leases that others have let end (etcd issue 15247): two clients act meanwhile, and only the
// token protects the resource. A Lock that fails does not say whether its key was put; the session
// is ended then, and the key with it. Unlock does not say whether the key was still there. A wait
// whose context has ended deletes its key with no limit of time. A connection that carries nothing
// and stays open is not noticed: gRPC sends no pings by default. A member without a leader leaves
// its watches asleep. A waiter is woken by a watch from a past revision, which etcd looks after
// every 100 ms.
//
// With guard=on a lease also keeps the resource's value in etcd, where a write is a transaction
// with Mutex.IsOwner: the service that gave the token checks it. Without, whoever is written to must check the token.
package etcdlock
