// Package lamport is Lamport's mutual exclusion algorithm of 1978 as a lock for a
// small cluster of peers: no server and no lease time. Requests carry timestamps of
// logical clocks; every peer keeps a queue of all requests, acknowledges each, and
// holds when its own is the first and everybody has been heard since. See the
// sub-package core.
//
// # What it promises
//
// At most one peer holds a resource, also across partitions, lost connections and
// restarts. Requests are served in the order of their timestamps: one that others
// have seen is passed by nobody. An acquisition takes one round trip when nobody
// else wants the lock, one delay after a release, and 3(N-1) messages.
//
// # What it does not
//
// It needs every peer: one that is dead or cut off stops all others, until it is
// back; [locks.Lease].Lost is closed by Close alone. With detect=on a peer whose
// connection is lost is left out, and then a partition splits the lock, also one
// that cuts only some of the connections. There is no fencing token.
package lamport
