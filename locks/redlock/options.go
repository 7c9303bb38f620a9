package redlock

import (
	"cmp"
	"fmt"
	"time"

	"locklab/locks"
)

// Options configures the lock. Start from DefaultOptions.
type Options struct {
	TTL     time.Duration // the lease time at the instances: a dead holder blocks for this long
	Timeout time.Duration // for one instance's answer; a later one counts as missing
	// Sequential asks one instance after the other, as the first description of the
	// algorithm does, instead of all at once.
	Sequential bool
	// Delay is the mean pause between two attempts. A pause is drawn from 0.5 to 1.5 times Delay,
	// so that clients that split the vote do not collide again; with FixedDelay it is Delay.
	Delay      time.Duration
	FixedDelay bool
	Extend     bool // renews leases in the background every third of TTL

	// Persistence (none, everysec or always, as Redis names them) and RestartDelay configure the
	// Redis servers, not the client, so that one spec names the whole lock. An instance that
	// restarts empty before a TTL has passed may vote twice (scenario restart-delayed). A
	// RestartDelay of 0 means TTL: see Away.
	Persistence  string
	RestartDelay time.Duration
}

// DefaultOptions returns the options of a spec that sets none.
func DefaultOptions() Options {
	const ttl = 3 * time.Second
	return Options{
		TTL: ttl, Timeout: timeoutOf(ttl), Delay: 50 * time.Millisecond, Extend: true, Persistence: "none",
	}
}

// timeoutOf returns the default timeout for a lease time.
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

// ReadServers reads the options of all locks on Redis: ttl, with the given default, persistence and
// restart_delay. The others are those of DefaultOptions for that TTL.
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

// ReadOptions reads the options of ReadServers, and delay.
func ReadOptions(r *locks.Reader, ttl time.Duration) Options {
	o := ReadServers(r, ttl)
	o.Delay = r.Duration("delay", "about how long a waiter pauses between two tries", o.Delay)
	return o
}

// Validate checks the options. The error wraps locks.ErrInvalid.
func (o Options) Validate() error {
	const most = locks.DurationMax
	if o.TTL < 10*time.Millisecond || max(o.TTL, o.Delay) > most || o.Timeout <= 0 || o.Timeout > o.TTL/2 || o.Delay <= 0 {
		return fmt.Errorf("ttl %v, timeout %v, delay %v: "+
			"want a ttl from 10ms to %v, a timeout of at most half of that, and a delay of at most %[4]v: %w",
			o.TTL, o.Timeout, o.Delay, most, locks.ErrInvalid)
	}
	return nil
}

// Away is how long a server that lost its memory must stay down, until its grants have expired: TTL, or
// RestartDelay if that is set.
func (o Options) Away() time.Duration { return cmp.Or(o.RestartDelay, o.TTL) }

// drift is the allowance for clock drift: the clocks of the instances may run 1% faster
// than the client's, and Redis expires keys with a granularity of 1 ms.
func (o Options) drift() time.Duration { return o.TTL/100 + 2*time.Millisecond }
