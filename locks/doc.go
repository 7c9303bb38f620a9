// Package locks defines what every lock of the lab looks like to its user: a
// [Locker] hands out a [Lease] on a named resource, and every operation ends
// in exactly one of three ways.
//
//	            Acquire                         Release
//	ok          a Lease, nil error              nil error
//	failed      ErrNotAcquired: surely not      ErrNotHeld: it was gone before
//	unknown     ErrUnknown: maybe held, until   ErrUnknown: maybe still held,
//	            the lease at the server ends    until the lease ends
//
// A timeout is never "not done": a lock whose server may have granted the
// request after the caller gave up reports [ErrUnknown] unless it knows better.
//
// One sub-package holds one algorithm. They import nothing of the lab besides
// this package and the small helpers below it (clock, seed), so each of them can
// be used as a library. locktest is the conformance suite that all of them pass.
package locks
