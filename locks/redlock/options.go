package redlock

import (
	"cmp"
	"fmt"
	"time"

	"locklab/locks"
)

// Order is how the instances are asked.
type Order string

// The orders.
const (
	// Parallel asks all instances at once.
	Parallel Order = "parallel"
	// Sequential asks one after the other, as the first description of the
	// algorithm does. An acquisition takes as long as a round trip to each.
	Sequential Order = "sequential"
)

// Retry is how the pause before the next attempt is drawn.
type Retry string

// The ways to retry.
const (
	// Random draws from half to one and a half times the delay, so that clients
	// that split the vote do not meet again.
	Random Retry = "random"
	// Fixed always pauses for the delay.
	Fixed Retry = "fixed"
)

// Wake is how a waiter learns of a release.
type Wake string

// The ways to learn of a release.
const (
	// Poll is the algorithm as published: every waiter tries again after a delay,
	// and knows nothing of others, not of those in its own process either.
	Poll Wake = "poll"
	// Publish is not in the documents. The waiters of a process queue inside it, and
	// waiting processes at one of the instances, whose release script wakes the first
	// of them by a message. A lost message costs time only: everybody also tries
	// again after a few delays.
	Publish Wake = "publish"
)

// Options is how the lock works. Take DefaultOptions and change what is needed.
type Options struct {
	// TTL is the lease time at the instances: how long a dead holder blocks.
	TTL time.Duration
	// Timeout is how long one instance may take to answer. It is far below TTL: an
	// instance that is late counts as one that said nothing.
	Timeout time.Duration
	// Delay is the pause between two attempts, see Retry.
	Delay time.Duration
	Order Order
	Retry Retry
	Wake  Wake
	// Extend renews leases in the background every third of TTL.
	Extend bool

	// Persistence (none, everysec or always, as Redis names them) and RestartDelay do not
	// concern the client: they say how the Redis servers are to be run, so that one spec
	// names the whole lock. An instance that comes back without its memory, and sooner than
	// after TTL, may vote twice (scenario restart-delayed); a delay of 0 is TTL: see Away.
	Persistence  string
	RestartDelay time.Duration
}

// DefaultOptions are those of a spec without options.
func DefaultOptions() Options {
	return Options{
		TTL:         3 * time.Second,
		Timeout:     300 * time.Millisecond,
		Delay:       50 * time.Millisecond,
		Order:       Parallel,
		Retry:       Random,
		Wake:        Poll,
		Extend:      true,
		Persistence: "none",
	}
}

// timeoutOf is the default timeout for a lease time: a tenth of it, within
// bounds that suit a network and a busy machine.
func timeoutOf(ttl time.Duration) time.Duration {
	return min(max(ttl/10, 5*time.Millisecond), 500*time.Millisecond)
}

// ParseOptions reads a spec such as redlock:order=sequential,ttl=2s. Its options
// are order, retry, wake, delay, ttl, persistence and restart_delay. The error wraps locks.ErrInvalid.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	r.Variant()
	o := ReadOptions(r, DefaultOptions().TTL)
	o.Order = Order(r.Choice("order", "whether the servers are asked all at once or one after the other", string(Parallel), string(Sequential)))
	o.Retry = Retry(r.Choice("retry", "random: a pause is drawn from half to one and a half times delay; fixed: it is delay", string(Random), string(Fixed)))
	o.Wake = Wake(r.Choice("wake", "poll: a waiter tries again after a pause; publish: a release wakes the first of a queue by a message", string(Poll), string(Publish)))
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
	o.Persistence = r.Choice("persistence", "what the servers keep on disk: nothing, or a log that is synced every second or at every write", "none", "everysec", "always")
	o.RestartDelay = r.Duration("restart_delay", "for how long a server that lost its data stays away; as long as the ttl if not given", o.RestartDelay)
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
	switch {
	case o.TTL < 10*time.Millisecond || o.TTL > locks.DurationMax:
		return fmt.Errorf("ttl %v: want from 10ms to %v: %w", o.TTL, locks.DurationMax, locks.ErrInvalid)
	case o.Timeout <= 0 || o.Timeout > o.TTL/2:
		return fmt.Errorf("timeout %v: want more than 0 and at most half of the ttl, %v: %w", o.Timeout, o.TTL/2, locks.ErrInvalid)
	case o.Delay <= 0 || o.Delay > locks.DurationMax:
		return fmt.Errorf("delay %v: want more than 0 and at most %v: %w", o.Delay, locks.DurationMax, locks.ErrInvalid)
	case o.RestartDelay < 0 || o.RestartDelay > locks.DurationMax:
		return fmt.Errorf("restart_delay %v: want from 0 to %v: %w", o.RestartDelay, locks.DurationMax, locks.ErrInvalid)
	case o.Order != Parallel && o.Order != Sequential:
		return fmt.Errorf("order %q: want parallel or sequential: %w", o.Order, locks.ErrInvalid)
	case o.Retry != Random && o.Retry != Fixed:
		return fmt.Errorf("retry %q: want random or fixed: %w", o.Retry, locks.ErrInvalid)
	case o.Wake != Publish && o.Wake != Poll:
		return fmt.Errorf("wake %q: want publish or poll: %w", o.Wake, locks.ErrInvalid)
	}
	return nil
}

// Away is how long a server without its memory must stay away, for what it may have granted
// to run out: TTL, or RestartDelay if there is one.
func (o Options) Away() time.Duration { return cmp.Or(o.RestartDelay, o.TTL) }

// drift is what the validity is shortened by: the clocks of the instances may run
// faster than ours by a hundredth, and Redis ends keys with 1 ms granularity.
func (o Options) drift() time.Duration { return o.TTL/100 + 2*time.Millisecond }
