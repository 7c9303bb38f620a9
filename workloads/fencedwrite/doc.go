// Package fencedwrite is the workload in which holders write to a store. Each reads the
// value of its resource, works for as long as it holds, and writes a new value, as in
// M. Kleppmann's "How to do distributed locking" (2016): what it overwrites it should
// have read.
//
//	client     acquire ── read ── works ── still held? ─────────────── write ── release
//	lease        ├───────────────────────────┤ over
//	another                                      acquire ── read ── write
//	                                                                  stale ▲
//
// A holder looks whether its hold is over before it writes, and not again: one whose
// process stands still between its last look and its write cannot look either. So a
// lease does not protect the store. The store can protect itself: it keeps the highest
// fencing token that it was shown for a resource, by reads and by writes, and refuses
// what comes with a lower one. Without tokens (--fencing off, or a lock that has none) it
// has nothing to check and takes every write.
//
// The store is in the workers, a resource in each in turn. Holders reach it over links,
// which faults break like all others; what it did it records itself, under the mutex that
// made it true, and no fault touches that record. It survives the end of its process: what
// it promised is in a file.
//
//	POST read  {"resource":"r1","hold":"h-1","by":"master-a","token":7}            → {"version":41}
//	POST write {"resource":"r1","hold":"h-1","by":"master-a","token":7,"base":41}  → {"version":42}
//	     409 fenced: somebody came with a higher token before
//
// A lock whose service keeps data, too (locks.Storer), has its own store: the lease
// writes there, in a transaction that compares the lock (etcd:guard=on). Its records are
// the writers', in the order of the versions that the service gave.
package fencedwrite
