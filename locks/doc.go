// Package locks defines what every lock of the lab looks like to its user: a
// [Locker] hands out a [Lease] on a named resource, and every operation ends
// in exactly one of three ways.
//
//	            Acquire                         Release
//	ok          a Lease, nil error              nil error
//	failed      ErrNotAcquired: surely not      ErrNotHeld: surely gone before
//	unknown     ErrUnknown: maybe held, until   ErrUnknown: maybe still held,
//	            the lease at the server ends    until the lease ends, or gone,
//	                                            maybe before
//
// A timeout is never "not done": a lock whose server may have granted the
// request after the caller gave up reports [ErrUnknown] unless it knows better.
//
// The same words mean the same for every lock:
//
//	claim    a call of Acquire, from when it asks until its lease ends
//	grant    the moment, at a server or among peers, from which a claim has the resource;
//	         fencing tokens number grants
//	lease    what Acquire returns for a granted claim, whether or not it ends by itself
//	         (then its lease time says when, unless it is renewed)
//	hold     to have a lease that is neither released nor lost; who does is the holder
//	vote     what a server or peer gives to one claim at a time; a grant needs a quorum of them
//
//	Config   what a client or server is made of
//	Options  the part of it that a lock spec can say
//	Settings what the lab's controller tells a server's process, as JSON
//
// One sub-package holds one algorithm, with the client that speaks to its servers or
// peers. They import nothing of the lab but each other and the small kits in internal/, so each of
// them can be used as a library: README.md says how. locktest is the conformance suite that
// all of them pass.
package locks
