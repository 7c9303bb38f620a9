// Package fencedwrite is the workload in which holders write to a store. Each reads the value of its resource,
// works while it holds, and writes a new value, as in M. Kleppmann's "How to do distributed locking" (2016): it
// should have read the version that it overwrites.
//
//	client     acquire ── read ── works ── still held? ─────────────── write ── release
//	lease        ├───────────────────────────┤ over
//	another                                      acquire ── read ── write
//	                                                                  stale ▲
//
// A holder checks once, before it writes, whether its hold is over. If its process pauses between this check and
// the write, it cannot check again, so a lease does not protect the store. The store can protect itself: it keeps
// the highest fencing token that reads and writes have shown for a resource, and refuses lower ones. Without
// tokens (--fencing off, or a lock that has none) it takes every write.
//
// The store is in the workers, a resource in each in turn. Holders reach it over links, which faults break like
// all others. It records what it did itself, under the mutex that made it true, and no fault touches that record.
// Its file survives the end of its process.
//
//	POST read  {"resource":"r1","hold":"h-1","by":"master-a","token":7}            → {"version":41}
//	POST write {"resource":"r1","hold":"h-1","by":"master-a","token":7,"base":41}  → {"version":42}
//	     409 fenced: a higher token was shown before
//
// A lock whose service also keeps data (locks.Storer) has its own store: the lease writes there, in a transaction
// that compares the lock (etcd:guard=on). The writers record it, in the order of the service's versions.
package fencedwrite
