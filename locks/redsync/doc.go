// Package redsync is the public library github.com/go-redsync/redsync/v4 on go-redis, both with
// their defaults, behind the interface of this lab's locks: Redlock as others run it, to compare with.
//
// Its Mutex asks all instances in parallel (SetNX), waits for the answer of each, and tries
// again after 50 to 250 ms, 32 times; the adapter begins again then. Expires is Mutex.Until, and Lost a timer
// on it. There is no fencing token.
//
//	Acquire  every error    unknown: the library does not say how far it got
//	Release  after Until    the lease had ended
//	         every error    unknown: go-redis may have sent the deletion before, without an answer
//
// Weaknesses beside Redlock's. Nothing extends a lease by itself. A try that ends in the middle
// leaves keys behind for the TTL, because the library takes them back with the context that has
// ended. go-redis obeys no contexts by default: one silent instance holds up every try for seconds. It sends
// again what failed fast (a reset), so that a SetNX that succeeded may answer no.
package redsync
