package multiphase

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"locklab/locks"
	"locklab/locks/multiphase/core"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// Name is the lock's name in specs.
const Name = "multiphase"

// The variants.
const (
	cohortVariant = "cohort"
	quorumVariant = "quorum"
)

// Where quorum keeps votes.
const (
	storeDisk   = "disk"
	storeMemory = "memory"
)

// Peer is another member of the cluster: its ID, its rank, which is its priority
// (0 is the highest), and the address to dial it at.
type Peer = mesh.Peer

// Options chooses the rules and how local waiters are served.
type Options struct {
	Rules core.Options // the same at all peers of a cluster; not used with Quorum
	// Cohort is how many waiters of this Locker one acquisition among the peers
	// serves at most, one after the other, before the peers have their turn. Zero:
	// each waiter does an acquisition of its own. With Quorum at most
	// peerlock.CohortMost, which is what fits into a token.
	Cohort int
	// Alone lets this peer take locks before it has once been connected to every other
	// peer at once, which a peer that was started again waits for too. Two peers that start so on the two sides of a
	// cut split the lock from the beginning. Not used with Quorum.
	Alone bool
	// Quorum, if not nil, is another algorithm: a majority of all peers must vote for
	// the holder, for a limited time. A minority waits, and there are fencing tokens.
	Quorum *Quorum
}

// Quorum is the options of multiphase:quorum, the same at all peers of a cluster.
type Quorum struct {
	// TTL is the lease: how long a dead holder blocks, and how long a peer that has lost its
	// memory waits before it takes part.
	TTL time.Duration
	// Extend renews leases every third of the TTL until they are released.
	Extend bool
	// Rules.Disk needs Config.StateFile.
	Rules quorum.Options
}

const (
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

// DefaultQuorum is the options of multiphase:quorum,store=memory: without Rules.Disk, which
// needs a file, tokens grow only while less than a majority loses its memory within one
// recovery.
func DefaultQuorum() Options { return Options{Quorum: &Quorum{TTL: ttlUsual, Extend: true}} }

// ParseOptions reads the options of a spec such as multiphase:rule=literal,fair=off or
// multiphase:cohort,cohort=8 or multiphase:quorum,ttl=5s.
func ParseOptions(spec locks.Spec) (Options, error) {
	if spec.Name != Name {
		return Options{}, fmt.Errorf("lock %q: want %s: %w", spec, Name, locks.ErrInvalid)
	}
	r := spec.Reader()
	o := DefaultOptions()
	switch r.Variant(
		locks.Variant{Name: cohortVariant, Does: "one acquisition among the peers serves several waiters of a master, one after the other"},
		locks.Variant{Name: quorumVariant, Does: "a majority of all peers must vote for the holder, for a limited time: a minority waits; with fencing tokens"},
	) {
	case cohortVariant:
		o.Cohort = r.Int("cohort", "how many waiters of a master one acquisition among the peers serves at most", cohortUsual, 1, cohortMost)
	case quorumVariant:
		o = DefaultQuorum()
		o.Quorum.TTL = r.Duration("ttl", "how long a lease lasts, and so for how long a dead holder blocks the others; a peer that has lost its memory waits as long before it takes part", o.Quorum.TTL)
		o.Quorum.Extend = r.Bool("extend", "whether leases are extended, every third of the ttl, until they are released", o.Quorum.Extend)
		o.Quorum.Rules.View = r.Bool("view", "whether a peer also needs the vote of everybody that it is connected to, not just of a majority", o.Quorum.Rules.View)
		o.Quorum.Rules.Disk = r.Choice("store", "where peers keep their votes: on disk or in memory", storeDisk, storeMemory) == storeDisk
		o.Cohort = r.Int("cohort", "how many waiters of a master one acquisition among the peers serves at most; 0: each does its own", 0, 0, peerlock.CohortMost)
		return o, errors.Join(r.Err(), o.validate())
	}
	if r.Choice("rule", "flow: a peer asks again when all requests of others are reset; literal: at any LockReset, as the list of rules reads, which is unsafe", core.RuleFlow.String(), core.RuleLiteral.String()) == core.RuleLiteral.String() {
		o.Rules.Rule = core.RuleLiteral
	}
	o.Rules.Fair = r.Bool("fair", "whether a peer that passed one that waits then waits for it in turn", o.Rules.Fair)
	o.Rules.View = r.Bool("view", "whether a peer consents only to those who see every peer that it sees itself", o.Rules.View)
	o.Rules.Rounds = r.Bool("rounds", "whether a consent counts only for the round that it answers", o.Rules.Rounds)
	return o, r.Err()
}

func (o Options) validate() error {
	most := cohortMost
	if o.Quorum != nil {
		most = peerlock.CohortMost
		if o.Quorum.TTL < ttlLeast || o.Quorum.TTL > ttlMost {
			return fmt.Errorf("multiphase: ttl is %v, want %v to %v: %w", o.Quorum.TTL, ttlLeast, ttlMost, locks.ErrInvalid)
		}
	}
	if o.Cohort < 0 || o.Cohort > most {
		return fmt.Errorf("multiphase: cohort is %d, want 0 to %d: %w", o.Cohort, most, locks.ErrInvalid)
	}
	return nil
}

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string {
	spec := locks.Spec{Name: Name, Options: map[string]string{}}
	if o.Cohort > 0 {
		spec.Options["cohort"] = strconv.Itoa(o.Cohort)
	}
	if q := o.Quorum; q != nil {
		spec.Variant = quorumVariant
		spec.Options["ttl"], spec.Options["extend"], spec.Options["view"] = q.TTL.String(), onOff(q.Extend), onOff(q.Rules.View)
		spec.Options["store"] = storeMemory
		if q.Rules.Disk {
			spec.Options["store"] = storeDisk
		}
		return spec.String()
	}
	if o.Cohort > 0 {
		spec.Variant = cohortVariant
	}
	spec.Options["rule"], spec.Options["fair"] = o.Rules.Rule.String(), onOff(o.Rules.Fair)
	spec.Options["view"], spec.Options["rounds"] = onOff(o.Rules.View), onOff(o.Rules.Rounds)
	return spec.String()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// shared is what the options of peers must agree on: all but the cohort.
func (o Options) shared() string {
	o.Cohort = 0
	return o.String()
}

// Algorithm is how peers with these options are made, for explorations and
// simulations. It is not the one with Quorum.
func (o Options) Algorithm() peercore.Algorithm[core.State, core.Message] {
	a := o.Rules.Algorithm(o.Alone)
	a.Spec = o.shared()
	return a
}

// QuorumAlgorithm is how peers with Quorum are made, likewise.
func (o Options) QuorumAlgorithm() peercore.Algorithm[quorum.State, quorum.Message] {
	a := o.Quorum.Rules.Algorithm()
	a.Spec = o.shared()
	return a
}
