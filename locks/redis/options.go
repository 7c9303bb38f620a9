package redis

import (
	"fmt"
	"time"

	"locklab/locks"
	"locklab/locks/redlock"
)

// Variant is the way in which a key is taken.
type Variant string

// The variants; the package comment names their sources.
const (
	SetNX       Variant = "" // SET NX PX
	SetNXGetSet Variant = "setnx-getset"
	Watch       Variant = "watch"
	PubSub      Variant = "pubsub"
	Replica     Variant = "replica" // SET NX PX at the primary that Sentinels name
)

// Options configures the lock. With one instance, Sequential and FixedDelay of redlock.Options
// have no effect.
type Options struct {
	redlock.Options
	Variant Variant
	// Naive releases without comparing.
	Naive bool

	// Wait (variant replica) is the number of replicas that must have a key before it counts as held:
	// 0 or 1. DownAfter configures the Sentinels: after this silence they consider the primary down.
	Wait      int
	DownAfter time.Duration
}

// ReplicaTTL is the default TTL of the variant replica. A lease shorter than a failover (about 2 s
// with the default DownAfter) expires before a new primary can extend it.
const ReplicaTTL = 4 * time.Second

// DefaultOptions returns the options of a spec that sets none.
func DefaultOptions() Options { return Options{Options: redlock.DefaultOptions()} }

// ParseOptions reads a spec such as redis:pubsub,ttl=2s. The error wraps locks.ErrInvalid.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	variant := r.Variant(
		locks.Variant{
			Name: string(SetNXGetSet),
			Does: "SETNX of the time at which the hold ends, and GETSET once it is over: the clients' clocks decide",
		},
		locks.Variant{Name: string(Watch), Does: "WATCH, MULTI and EXEC: an aborted transaction is tried again"},
		locks.Variant{Name: string(PubSub), Does: "a release publishes a message, which wakes the waiters"},
		locks.Variant{
			Name: string(Replica),
			Does: "a primary with a replica; Sentinels promote the replica when the primary is gone",
		},
	)
	o := Options{Variant: Variant(variant)}
	if o.Variant == Replica {
		o.Options = redlock.ReadOptions(r, ReplicaTTL)
		if r.Choice("wait", "how many replicas must have the key before it counts as held", "0", "1") == "1" {
			o.Wait = 1
		}
		o.DownAfter = r.Duration("down_after",
			"for how long a Sentinel must hear nothing of the primary before it takes it for dead", 500*time.Millisecond)
	} else {
		o.Options = redlock.ReadOptions(r, redlock.DefaultOptions().TTL)
	}
	o.Naive = r.Choice("release",
		"compare: a release deletes only its own key; naive: it deletes whatever is there", "compare", "naive") == "naive"
	o.Extend = o.Variant != SetNXGetSet
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("lock %q: %w", spec, err)
	}
	return o, nil
}

// Validate checks the options. The error wraps locks.ErrInvalid.
func (o Options) Validate() error {
	if o.Variant == Replica && o.DownAfter < 100*time.Millisecond {
		return fmt.Errorf("down_after %v: want at least 100ms: %w", o.DownAfter, locks.ErrInvalid)
	}
	return o.Options.Validate()
}

// Replicated locates a primary with replicas, which Sentinels watch.
type Replicated struct {
	// Sentinels are the Sentinels' addresses, host:port.
	Sentinels []string
	// Service is the Sentinels' name for the primary.
	Service string
	// Reach returns the address to dial for the server that Sentinels call addr; nil means addr.
	Reach func(addr string) string
}

// validate returns an error that wraps locks.ErrInvalid.
func (r Replicated) validate() error {
	if len(r.Sentinels) == 0 || r.Service == "" {
		return fmt.Errorf("replica: %d Sentinels, service %q: "+
			"want the addresses of Sentinels and their name for the primary: %w",
			len(r.Sentinels), r.Service, locks.ErrInvalid)
	}
	return nil
}
