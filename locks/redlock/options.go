package redlock

import (
	"cmp"
	"fmt"
	"time"

	"locklab/locks"
)

// Options is how the lock works. Take DefaultOptions and change what is needed.
type Options struct {
	TTL     time.Duration // the lease time at the instances: how long a dead holder blocks
	Timeout time.Duration // for one instance's answer: one that is late counts as one that said nothing
	// Sequential asks one instance after the other, as the first description of the
	// algorithm does, and not all at once.
	Sequential bool
	// Delay is the pause between two attempts. It is drawn from half of it to one and a half
	// times, so that clients that split the vote do not meet again; with FixedDelay it is not.
	Delay      time.Duration
	FixedDelay bool
	Extend     bool // renews leases in the background every third of TTL

	// Persistence (none, everysec or always, as Redis names them) and RestartDelay do not
	// concern the client: they say how the Redis servers are to be run, so that one spec
	// names the whole lock. An instance that comes back without its memory, and sooner than
	// after TTL, may vote twice (scenario restart-delayed); a delay of 0 is TTL: see Away.
	Persistence  string
	RestartDelay time.Duration
}

// DefaultOptions are those of a spec without options.
func DefaultOptions() Options {
	const ttl = 3 * time.Second
	return Options{
		TTL: ttl, Timeout: timeoutOf(ttl), Delay: 50 * time.Millisecond, Extend: true, Persistence: "none",
	}
}

// timeoutOf is the default timeout for a lease time.
func timeoutOf(ttl time.Duration) time.Duration {
	return min(max(ttl/10, 5*time.Millisecond), 500*time.Millisecond)
}

// ParseOptions reads a spec such as redlock:order=sequential,retry=fixed. The error wraps locks.ErrInvalid.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	r.Variant()
	o := ReadOptions(r, DefaultOptions().TTL)
	o.Sequential = r.Choice("order",
		"whether the servers are asked all at once or one after the other", "parallel", "sequential") == "sequential"
	o.FixedDelay = r.Choice("retry",
		"random: a pause is drawn from half to one and a half times delay; fixed: it is delay", "random", "fixed") == "fixed"
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("lock %q: %w", spec, err)
	}
	return o, nil
}

// ReadServers reads what all locks on Redis have: ttl, persistence and restart_delay. The
// others are as in DefaultOptions, for that TTL, whose default is the one given.
func ReadServers(r *locks.Reader, ttl time.Duration) Options {
	o := DefaultOptions()
	o.TTL = r.Duration("ttl", "how long a lease lasts, and so for how long a dead holder blocks the others", ttl)
	o.Timeout = timeoutOf(o.TTL)
	o.Persistence = r.Choice("persistence",
		"what the servers keep on disk: nothing, or a log that is synced every second or at every write",
		"none", "everysec", "always")
	o.RestartDelay = r.Duration("restart_delay",
		"for how long a server that lost its data stays away; as long as the ttl if not given", o.RestartDelay)
	return o
}

// ReadOptions reads that and delay. The default of ttl is the one given.
func ReadOptions(r *locks.Reader, ttl time.Duration) Options {
	o := ReadServers(r, ttl)
	o.Delay = r.Duration("delay", "about how long a waiter pauses between two tries", o.Delay)
	return o
}

// Validate says what is wrong. The error wraps locks.ErrInvalid.
func (o Options) Validate() error {
	const most = locks.DurationMax
	if o.TTL < 10*time.Millisecond || max(o.TTL, o.Delay) > most || o.Timeout <= 0 || o.Timeout > o.TTL/2 || o.Delay <= 0 {
		return fmt.Errorf("ttl %v, timeout %v, delay %v: "+
			"want a ttl from 10ms to %v, a timeout of at most half of that, and a delay of at most %[4]v: %w",
			o.TTL, o.Timeout, o.Delay, most, locks.ErrInvalid)
	}
	return nil
}

// Away is how long a server without its memory must stay away, for what it may have granted
// to run out: TTL, or RestartDelay if there is one.
func (o Options) Away() time.Duration { return cmp.Or(o.RestartDelay, o.TTL) }

// drift is what the validity is shortened by: the clocks of the instances may run
// faster than ours by a hundredth, and Redis ends keys with 1 ms granularity.
func (o Options) drift() time.Duration { return o.TTL/100 + 2*time.Millisecond }
