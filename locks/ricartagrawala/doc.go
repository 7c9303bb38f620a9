// Package ricartagrawala is the mutual exclusion algorithm of Ricart and Agrawala of
// 1981 as a lock for a small cluster of peers: no server and no lease time. Requests
// carry timestamps of logical clocks; a peer answers at once unless it holds the lock
// or asked for it earlier, and then defers its answer. See the sub-package core.
//
// # What it promises
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. Requests are served in the order of their timestamps. An acquisition
// takes one round trip when nobody else wants the lock, one delay after a release,
// and 2(N-1) messages.
//
// # What it does not
//
// It needs every peer: one that is dead or cut off stops all others, until it is
// back; [locks.Lease].Lost is closed by Close alone. With detect=on a peer whose
// connection is lost is left out, and then a partition splits the lock, also one
// that cuts only some of the connections. There is no fencing token.
package ricartagrawala
