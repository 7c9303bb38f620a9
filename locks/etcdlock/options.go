package etcdlock

import (
	"fmt"
	"time"

	"locklab/locks"
)

// Name is the lock's name in specs.
const Name = "etcd"

// Options are the settings that a lock spec can give this lock.
type Options struct {
	// TTL is the lease time, in whole seconds, as etcd counts it. A cluster with the usual
	// election timeout grants 2 s at least.
	TTL   time.Duration
	Guard bool // leases keep the resource's value in etcd, and each write compares the lock
}

// DefaultOptions returns a lease of 3 s.
func DefaultOptions() Options { return Options{TTL: 3 * time.Second} }

// ParseOptions reads the options of a spec.
func ParseOptions(spec locks.Spec) (Options, error) {
	d := DefaultOptions()
	r := spec.Reader()
	r.Variant()
	o := Options{
		TTL: r.Duration("ttl", "how long a lease lasts after its last renewal, in whole seconds, "+
			"and so for how long a dead holder blocks the others", d.TTL),
		Guard: r.Bool("guard", "whether the value that holders write (fenced-write) is in etcd, "+
			"where each write compares the lock", d.Guard),
	}
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if o.TTL < 2*time.Second || o.TTL > time.Hour || o.TTL%time.Second != 0 {
		return o, fmt.Errorf("etcd: ttl %v: want whole seconds from 2s to 1h: %w", o.TTL, locks.ErrInvalid)
	}
	return o, nil
}
