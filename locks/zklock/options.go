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
	// Session is for how long the servers keep what a silent client holds. They may be set to
	// grant less or more (minSessionTimeout, maxSessionTimeout); what they grant counts.
	Session time.Duration
	// Timeout is how long one server may take to answer, a third of the granted session at most;
	// then another one is asked. It is also how long a call whose context has ended waits for what it did to be undone.
	Timeout time.Duration
	// WatchAll has waiters watch all claims, not only the one before theirs.
	WatchAll bool
}

// DefaultOptions are a session of 3 s, a second for an answer, and no herd.
func DefaultOptions() Options {
	return Options{Session: 3 * time.Second, Timeout: time.Second}
}

// ParseOptions reads the options of a spec: session, timeout, watch.
func ParseOptions(spec locks.Spec) (Options, error) {
	d := DefaultOptions()
	r := spec.Reader()
	r.Variant()
	o := Options{
		Session: r.Duration("session", "for how long the servers keep what a silent client holds, and so for how long a dead holder blocks the others", d.Session), Timeout: r.Duration("timeout", "how long a server may take to answer before another one is asked", d.Timeout),
		WatchAll: r.Choice("watch", "which claims a waiter watches: the one before its own, or all others, which is the herd", "previous", "all") == "all",
	}
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	return o, o.validate()
}

// leastSession has a fifth that is as long as a tick of the servers, of half a second: the
// holder stops believing that much before they may expire the session.
const leastSession = 2500 * time.Millisecond

func (o Options) validate() error {
	switch {
	case o.Session < leastSession || o.Session > time.Hour || o.Session%time.Millisecond != 0:
		return fmt.Errorf("zookeeper: session %v: want whole milliseconds from %v to 1h: %w", o.Session, leastSession, locks.ErrInvalid)
	case o.Timeout < time.Millisecond || o.Timeout > o.Session/2:
		return fmt.Errorf("zookeeper: timeout %v: want from 1ms to half of the session, %v: %w", o.Timeout, o.Session/2, locks.ErrInvalid)
	}
	return nil
}
