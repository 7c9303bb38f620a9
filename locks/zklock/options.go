package zklock

import (
	"fmt"
	"time"

	"locklab/locks"
)

// Name is the lock's name in specs.
const Name = "zookeeper"

// Options are the settings that a lock spec can give this lock.
type Options struct {
	Session  time.Duration // the servers end a silent client's session after this time
	WatchAll bool          // waiters watch all claims, not only the one before theirs
	// WatchLate makes waiters not check whether the claim before theirs still exists when they
	// begin to watch it: a control that loses wake-ups.
	WatchLate bool
}

// DefaultOptions returns a session of 3 s, without WatchAll and WatchLate.
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

// leastSession is long enough that a sixth of it, in which a holder notices, is about a tick of the servers.
const leastSession = 2500 * time.Millisecond
