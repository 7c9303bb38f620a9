// Package raftlock is the client of the raft lock service (nodes/raftnode).
//
// One [Locker] is one session: one stream to the server that leads, over which any
// number of acquisitions and releases travel at once, those that are ready
// together in one frame. An acquisition waits in the service's own queue; nothing
// is polled. The fencing token is the index of the log entry that granted.
//
// A session and all its leases live while the client renews it, which every
// answered request does too. The client counts from the moment it sent what was
// answered, on its own monotonic clock, and gives its leases up (Lost) a margin
// before the service can end them. A broken stream is replaced: the client looks
// for the leader, following the names that the servers hint at, continues its
// session and sends again what was not answered; the service recognises repeats.
//
// Outcomes: an acquisition that its context ends is cancelled at the service; if
// the service confirms that, the error is [locks.ErrNotAcquired], and otherwise
// [locks.ErrUnknown]. Then the client still delivers the cancellation as soon as it
// can, so that a grant which nobody knows of does not outlive the trouble. A release
// returns when the lease is over, at the latest; if it was sent and has no answer, with
// [locks.ErrUnknown].
package raftlock
