package etcdlock

import (
	"fmt"
	"time"

	"locklab/locks"
)

// Name is the lock's.
const Name = "etcd"

// Options are what a lock spec can say of this lock.
type Options struct {
	// TTL is the lease time, in whole seconds, as etcd counts it. A cluster with the usual
	// election timeout grants 2 s at least.
	TTL time.Duration
	// Timeout is how long a member may take to answer; then the one whose turn it is is asked
	// (not for a guarded write, which is unknown then; a watch is given all the time). It is
	// also how long a call whose context has ended waits for what it did to be undone.
	Timeout time.Duration
	// Guard lets leases keep the resource's value in etcd, where a write is a transaction
	// that compares the lock. It matters to who writes through them: fenced-write.
	Guard bool
}

// DefaultOptions are a lease of 3 s and half a second for an answer.
func DefaultOptions() Options { return Options{TTL: 3 * time.Second, Timeout: 500 * time.Millisecond} }

// ParseOptions reads the options of a spec: ttl, timeout, guard.
func ParseOptions(spec locks.Spec) (Options, error) {
	d := DefaultOptions()
	r := spec.Reader()
	r.Variant()
	o := Options{
		TTL:     r.Duration("ttl", "how long a lease lasts after its last renewal, in whole seconds, and so for how long a dead holder blocks the others", d.TTL),
		Timeout: r.Duration("timeout", "how long a member may take to answer before another one is asked", d.Timeout),
		Guard:   r.Bool("guard", "whether the value that holders write (fenced-write) is in etcd, where each write compares the lock", d.Guard),
	}
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.TTL < 2*time.Second || o.TTL > time.Hour || o.TTL%time.Second != 0:
		return fmt.Errorf("etcd: ttl %v: want whole seconds from 2s to 1h: %w", o.TTL, locks.ErrInvalid)
	case o.Timeout < time.Millisecond || o.Timeout > o.TTL/2:
		return fmt.Errorf("etcd: timeout %v: want from 1ms to half of the ttl, %v: %w", o.Timeout, o.TTL/2, locks.ErrInvalid)
	}
	return nil
}
