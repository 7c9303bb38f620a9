package redlock

import "time"

// Single is how a lock on one instance differs from Redlock with one instance, which it
// otherwise is: one attempt after the other, a lease, its end. Package redis has the locks.
// What is left out is as in Redlock.
type Single struct {
	// Name begins the errors of NewSingle.
	Name string
	// Token makes the token of an attempt.
	Token func() string
	// Set asks for the key. It may block until the client closes, and do runs a command on
	// the connection that all attempts share. If keep is true the key may carry the token although the
	// lock is another client's, and is not deleted.
	Set func(do Do, key, token string) (answer Answer, keep bool, err error)
	// Extend does the same for an extension.
	Extend func(key, token string) (Answer, error)
	// Release is Lua in the place of Release, and Free takes its place when a lease ends, but
	// not when an attempt is taken back.
	Release, Free string
	// Waiter serves a call of Acquire, until done.
	Waiter func(do Do, resource string) (wait wait, done func())
	// Close ends what the others need. NewSingle calls it too, if it fails.
	Close func() error
}

// wait says, before another attempt, for how long to wait at most, a pause if negative, and what ends
// that sooner.
type wait = func() (atMost time.Duration, woken <-chan struct{})

// Do runs a command and waits for its answer. Ran says what an error means.
type Do func(args ...any) (any, error)

// pausing is the Waiter that pauses.
func pausing(Do, string) (wait, func()) {
	return func() (time.Duration, <-chan struct{}) { return -1, nil }, func() {}
}
