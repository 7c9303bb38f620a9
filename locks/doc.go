// Package locks defines the interface of every lock of the lab: a [Locker] hands out a [Lease]
// on a named resource, and every operation has exactly one of three outcomes.
//
//	            Acquire                         Release
//	ok          a Lease, nil error              nil error
//	failed      ErrNotAcquired: surely not      ErrNotHeld: surely ended before
//	unknown     ErrUnknown: maybe held, until   ErrUnknown: released, ended before,
//	            the lease at the server ends    or held until the lease ends
//
// A timeout is never "not done": a lock whose server may have granted the
// request after the caller gave up reports [ErrUnknown] unless it knows better.
//
// All locks use these terms:
//
//	claim    a call of Acquire, from when it asks until its lease ends
//	grant    the moment, at a server or among peers, from which a claim has the resource;
//	         fencing tokens number grants
//	lease    the result of Acquire; with a lease time it expires unless it is renewed
//	hold     to have a lease that is neither released nor lost; its owner is the holder
//	vote     a server's or peer's consent to one claim at a time; a grant needs a quorum of votes
//
//	Config   the parameters of a client or server
//	Options  the part of Config that a lock spec can set
//	Settings what the lab's controller passes to a server's process, as JSON
//
// Each sub-package holds one algorithm and its client. It imports nothing of the lab but its siblings
// and the small kits in internal/, so it can be used as a library: see README.md. All locks pass the
// conformance suite locktest.
package locks
