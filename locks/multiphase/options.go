package multiphase

import (
	"fmt"
	"strconv"
	"time"

	"locklab/locks"
	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock"
)

// Name is the lock's name in specs.
const Name = "multiphase"

// The variants.
const (
	cohortVariant = "cohort"
	quorumVariant = "quorum"
)

// Options chooses the rules and how local waiters are served.
type Options struct {
	Rules core.Options // the same at all peers of a cluster; not used with Quorum
	// Cohort bounds how many waiters of this Locker one acquisition serves before other
	// peers have their turn. Zero: each waiter makes its own acquisition. With Quorum it
	// is at most peerlock.CohortMost, which fits into a token.
	Cohort int
	// Quorum, if not nil, selects another algorithm: a majority of all peers must vote for
	// the holder, for a limited time. A minority waits, and there are fencing tokens.
	Quorum *Quorum
}

// Quorum is the options of multiphase:quorum, the same at all peers of a cluster.
type Quorum struct {
	TTL time.Duration // the lease time: a dead holder blocks the others for about as long
	// Extend renews leases every third of the TTL until they are released.
	Extend bool
}

const (
	cohortText  = "how many waiters of a master one acquisition among the peers serves at most"
	cohortUsual = 16
	cohortMost  = 1 << 20
	// cohortTime ends a cohort early, whatever its size.
	cohortTime = 50 * time.Millisecond

	ttlUsual = 2 * time.Second
	ttlLeast = 50 * time.Millisecond
	ttlMost  = time.Hour
)

// DefaultOptions has every rule in force.
func DefaultOptions() Options { return Options{Rules: core.DefaultOptions()} }

// ParseOptions reads the options of a spec such as multiphase:rule=literal,fair=off or
// multiphase:cohort,cohort=8 or multiphase:quorum,ttl=5s.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	o := DefaultOptions()
	switch r.Variant(
		locks.Variant{
			Name: cohortVariant,
			Does: "one acquisition among the peers serves several waiters of a master, one after the other",
		},
		locks.Variant{
			Name: quorumVariant,
			Does: "a majority of all peers must vote for the holder, for a limited time: a minority waits; with fencing tokens",
		},
	) {
	case cohortVariant:
		o.Cohort = r.Int("cohort", cohortText, cohortUsual, 1, cohortMost)
	case quorumVariant:
		q := &Quorum{}
		q.TTL = r.Duration("ttl", "how long a lease lasts, and so for how long a dead holder blocks the others", ttlUsual)
		q.Extend = r.Bool("extend", "whether leases are extended, every third of the ttl, until they are released", true)
		o = Options{Quorum: q}
		o.Cohort = r.Int("cohort", cohortText+"; 0: each does its own", 0, 0, peerlock.CohortMost)
		if q.TTL < ttlLeast || q.TTL > ttlMost {
			return o, fmt.Errorf("multiphase: ttl is %v, want %v to %v: %w", q.TTL, ttlLeast, ttlMost, locks.ErrInvalid)
		}
		return o, r.Err()
	}
	rule := r.Choice("rule", "flow: a peer asks again when all requests of others are reset; "+
		"literal: at any LockReset, as the list of rules reads, which is unsafe",
		core.RuleFlow.String(), core.RuleLiteral.String())
	if rule == core.RuleLiteral.String() {
		o.Rules.Rule = core.RuleLiteral
	}
	o.Rules.Fair = r.Bool("fair", "whether a peer that passed one that waits then waits for it in turn", o.Rules.Fair)
	o.Rules.View = r.Bool("view", "whether a peer consents only to those who see every peer that it sees itself",
		o.Rules.View)
	o.Rules.Rounds = r.Bool("rounds", "whether a consent counts only for the round that it answers", o.Rules.Rounds)
	return o, r.Err()
}

// String returns the complete and canonical spec of the options.
func (o Options) String() string {
	spec := locks.Spec{Name: Name, Options: map[string]string{}}
	on := func(key string, is bool) {
		spec.Options[key] = map[bool]string{false: "off", true: "on"}[is]
	}
	if o.Cohort > 0 {
		spec.Variant, spec.Options["cohort"] = cohortVariant, strconv.Itoa(o.Cohort)
	}
	if q := o.Quorum; q != nil {
		spec.Variant, spec.Options["ttl"] = quorumVariant, q.TTL.String()
		on("extend", q.Extend)
		return spec.String()
	}
	spec.Options["rule"] = o.Rules.Rule.String()
	on("fair", o.Rules.Fair)
	on("view", o.Rules.View)
	on("rounds", o.Rules.Rounds)
	return spec.String()
}

// shared returns the spec that must be the same at all peers: all options but the cohort.
func (o Options) shared() string {
	o.Cohort = 0
	return o.String()
}
