package zklock

import (
	"fmt"
	"time"

	"locklab/locks"
)

// Name is the lock's.
const Name = "zookeeper"

// Options are what a lock spec can say of this lock.
type Options struct {
	Session  time.Duration // for how long the servers keep what a silent client holds
	WatchAll bool          // waiters watch all claims, not only the one before theirs
	// WatchLate has them not look whether the claim before theirs is still there when they begin to
	// watch it: the control of lost wake-ups.
	WatchLate bool
}

// DefaultOptions are a session of 3 s, and no herd.
func DefaultOptions() Options { return Options{Session: 3 * time.Second} }

// ParseOptions reads the options of a spec.
func ParseOptions(spec locks.Spec) (Options, error) {
	d := DefaultOptions()
	r := spec.Reader()
	r.Variant()
	o := Options{
		Session: r.Duration("session", "for how long the servers keep what a silent client holds, "+
			"and so for how long a dead holder blocks the others", d.Session),
	}
	watch := r.Choice("watch", "which claims a waiter watches: the one before its own; all others, which is the herd; "+
		"or that one without looking whether it is still there, which loses wake-ups", "previous", "all", "late")
	o.WatchAll, o.WatchLate = watch == "all", watch == "late"
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if o.Session < leastSession || o.Session > time.Hour || o.Session%time.Millisecond != 0 {
		return o, fmt.Errorf("zookeeper: session %v: want whole milliseconds from %v to 1h: %w",
			o.Session, leastSession, locks.ErrInvalid)
	}
	return o, nil
}

// leastSession leaves a sixth, in which a holder notices, that is about as long as a tick of the servers.
const leastSession = 2500 * time.Millisecond
