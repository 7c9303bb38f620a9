// Package redsync is the public library github.com/go-redsync/redsync/v4 on go-redis, both with
// their defaults, behind the interface of this lab's locks: a widely used Redlock, for comparison.
//
// Its Mutex asks all instances in parallel (SetNX), waits for all answers, and tries again after
// 50 to 250 ms, up to 32 times; then this package calls it again. Expires is Mutex.Until, and Lost
// a timer on it. There is no fencing token.
//
//	Acquire  every error    unknown: the library does not say how far it got
//	Release  after Until    the lease had ended
//	         every error    unknown: go-redis may have sent an earlier deletion without an answer
//
// Weaknesses besides those of Redlock. Leases are not extended. An attempt that its context ends leaves
// keys behind for the TTL, because the library deletes them with the same context. go-redis ignores
// contexts by default: one silent instance delays every attempt for seconds. It repeats commands that
// failed fast (a reset), so a SetNX that succeeded may answer no.
package redsync
