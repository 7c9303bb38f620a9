package pglock

import (
	"fmt"
	"time"

	"locklab/locks"
)

// Name is the lock's name in specs.
const Name = "postgres"

// The variants.
const (
	Row      = ""         // SELECT ... FOR UPDATE
	Advisory = "advisory" // pg_advisory_lock
	Lease    = "lease"    // UPDATE ... WHERE expires < now()
)

// Options are the settings that a lock spec can give this lock.
type Options struct {
	Variant     string
	Conns       int           // the largest number of connections of a client
	Timeout     time.Duration // of waiting for a free connection, and for an answer of the server
	LockTimeout time.Duration // the server's lock_timeout, after which a wait starts again; not for lease
	TTL         time.Duration // of a lease after its last renewal
	Delay       time.Duration // the mean pause of waiters for a lease
	// Commit is PostgreSQL's synchronous_commit in all sessions.
	Commit string
}

// DefaultOptions returns the options of a spec that sets none.
func DefaultOptions() Options {
	return Options{
		Conns: 32, Timeout: 500 * time.Millisecond, LockTimeout: time.Second,
		TTL: 3 * time.Second, Delay: 50 * time.Millisecond, Commit: "on",
	}
}

// ParseOptions reads a spec such as postgres:lease,ttl=2s.
func ParseOptions(spec locks.Spec) (Options, error) {
	o := DefaultOptions()
	r := spec.Reader()
	o.Variant = r.Variant(
		locks.Variant{Name: Advisory, Does: "pg_advisory_lock, which the session holds"},
		locks.Variant{
			Name: Lease,
			Does: "a row with the time at which it ends, which the holder renews; no connection is kept",
		},
	)
	o.Conns = r.Int("conns", "how many connections a client may have", o.Conns, 1, 1000)
	o.Timeout = r.Duration("timeout",
		"how long a free connection is waited for, and how long the server may take to show that it is there", o.Timeout)
	o.Commit = r.Choice("synchronous_commit", "PostgreSQL's synchronous_commit: whether a commit waits for the disk",
		"on", "off")
	if o.Variant == Lease {
		o.TTL = r.Duration("ttl",
			"how long a lease lasts after its last renewal, and so for how long a dead holder blocks the others", o.TTL)
		o.Delay = r.Duration("delay", "about how long a waiter pauses between two tries", o.Delay)
	} else {
		o.LockTimeout = r.Duration("lock_timeout",
			"PostgreSQL's lock_timeout: a wait that takes longer is begun anew", o.LockTimeout)
	}
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.Conns < 1:
		return fmt.Errorf("postgres: conns %d: want at least 1: %w", o.Conns, locks.ErrInvalid)
	case o.Timeout < time.Millisecond || o.LockTimeout < time.Millisecond || o.Delay < time.Millisecond:
		return fmt.Errorf("postgres: timeout %v, lock_timeout %v, delay %v: want at least 1ms: %w",
			o.Timeout, o.LockTimeout, o.Delay, locks.ErrInvalid)
	case o.TTL < 50*time.Millisecond || o.TTL > time.Hour:
		return fmt.Errorf("postgres: ttl %v: want 50ms to 1h: %w", o.TTL, locks.ErrInvalid)
	case o.Variant == Lease && o.Timeout > o.TTL/2:
		return fmt.Errorf("postgres: timeout %v: want at most half of the ttl, %v: %w",
			o.Timeout, o.TTL/2, locks.ErrInvalid)
	}
	return nil
}

// Away is how long a server that lost its data must stay down: the lease time, if there is one.
func (o Options) Away() time.Duration {
	if o.Variant == Lease {
		return o.TTL
	}
	return 0
}
