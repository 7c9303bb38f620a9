package redlock

import "time"

// Single describes a lock on one instance: each field replaces a part of Redlock with one instance,
// unless it is empty. Package redis has the locks.
type Single struct {
	// Name begins the errors of NewSingle.
	Name string
	// Token makes the token of an attempt.
	Token func() string
	// Set asks for the key. It may block until the client closes; do runs a command on the
	// connection that all attempts for the resource share. If keep is true, the key may carry the token although
	// another client holds the lock, and is not deleted.
	Set func(do Do, key, token string) (answer Answer, keep bool, err error)
	// Extend extends a lease.
	Extend func(key, token string) (Answer, error)
	// Release is the Lua script that deletes a key. If Free is set, it replaces Release for
	// leases, but not for denied attempts.
	Release, Free string
	// Waiter serves a call of Acquire, until done.
	Waiter func(do Do, resource string) (wait wait, done func())
	// Close frees resources of the other fields. NewSingle calls it, too, if it fails.
	Close func() error
}

// wait returns the longest wait before another attempt, and a channel that ends it sooner. If atMost is
// negative, the caller pauses for a delay.
type wait = func() (atMost time.Duration, woken <-chan struct{})

// Do runs a command and waits for its answer. Ran classifies its error.
type Do func(args ...any) (any, error)

// pausing is the Waiter that pauses.
func pausing(Do, string) (wait, func()) {
	return func() (time.Duration, <-chan struct{}) { return -1, nil }, func() {}
}
