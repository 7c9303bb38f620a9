// Package redsync is the public library github.com/go-redsync/redsync/v4, as it is, behind
// the interface of this lab's locks: Redlock as others run it, to compare with.
//
// Its Mutex asks all instances in parallel (SetNX by go-redis), waits for the answer of
// each, at most a twentieth of the TTL, and tries again after 50 to 250 ms. go-redis is told
// to obey contexts (ContextTimeoutEnabled): by default it does not, and one silent instance
// then holds up every try, and whoever wants to give up, for go-redis's seconds. It is told to
// send nothing twice (MaxRetries): a deletion whose answer was lost would find nothing the
// second time, and read as a lease that had ended. The adapter begins again when the library's tries are used up, closes Lost when the library's
// validity is over, and says what an error means:
//
//	Acquire  every error           unknown: the library does not say how far it got
//	Release  keys gone, or another's, at so many instances that fewer than a quorum was
//	         left                  the lease had ended
//	         everything else       unknown
//
// Known weaknesses beside Redlock's, shown in redsync_test.go: nothing extends a lease by
// itself, and whoever gives up in the middle of a try leaves keys behind for the TTL,
// because the library takes them back with the context that has ended. There is no fencing
// token.
//
// A server with a memory limit that may evict keys is refused, but for deletions, see
// redlock.CheckServer.
package redsync
