package redis

import (
	"fmt"

	"locklab/locks"
	"locklab/locks/redlock"
)

// Variant is how a key is taken.
type Variant string

// The variants; see the package's comment for where they come from.
const (
	SetNX       Variant = "" // SET NX PX
	SetNXGetSet Variant = "setnx-getset"
	Watch       Variant = "watch"
	PubSub      Variant = "pubsub"
)

// Options is how the lock works. Of redlock.Options, Order, Retry and Wake say nothing
// where there is one instance and are as in redlock.DefaultOptions.
type Options struct {
	redlock.Options
	Variant Variant
	// Naive releases without comparing.
	Naive bool
}

// DefaultOptions are those of a spec without options.
func DefaultOptions() Options { return Options{Options: redlock.DefaultOptions()} }

// ParseOptions reads a spec such as redis:pubsub,ttl=2s. Its variants are setnx-getset,
// watch and pubsub; its options release=compare|naive, extend and those of redlock.ReadOptions.
// The error wraps locks.ErrInvalid.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	o := Options{
		Variant: Variant(r.Variant(string(SetNXGetSet), string(Watch), string(PubSub))),
		Options: redlock.ReadOptions(r),
	}
	o.Naive = r.Choice("release", "compare", "naive") == "naive"
	o.Extend = o.Variant != SetNXGetSet && r.Bool("extend", o.Extend)
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("lock %q: %w", spec, err)
	}
	return o, nil
}

// Validate says what is wrong. The error wraps locks.ErrInvalid.
func (o Options) Validate() error {
	switch o.Variant {
	case SetNX, Watch, PubSub:
	case SetNXGetSet:
		if o.Extend {
			return fmt.Errorf("extend=on: %s writes its end into the key and has no extension, want extend=off: %w", o.Variant, locks.ErrInvalid)
		}
	default:
		return fmt.Errorf("variant %q: want setnx-getset, watch, pubsub or none: %w", o.Variant, locks.ErrInvalid)
	}
	return o.Options.Validate()
}
