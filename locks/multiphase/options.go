package multiphase

import (
	"fmt"
	"strconv"
	"time"

	"locklab/locks"
	"locklab/locks/mesh"
	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock/peercore"
)

// Name is the lock's name in specs.
const Name = "multiphase"

const cohortVariant = "cohort"

// Peer is another member of the cluster: its ID, its rank, which is its priority
// (0 is the highest), and the address to dial it at.
type Peer = mesh.Peer

// Options chooses the rules and how local waiters are served.
type Options struct {
	Rules core.Options // the same at all peers of a cluster
	// Cohort is how many waiters of this Locker one acquisition among the peers
	// serves at most, one after the other, before the peers have their turn. Zero:
	// each waiter does an acquisition of its own.
	Cohort int
	// Alone lets this peer take locks with nobody connected before it has once been
	// connected to every other peer. Two peers that start so on the two sides of a
	// cut split the lock from the beginning.
	Alone bool
}

const (
	cohortUsual = 16
	cohortMost  = 1 << 20
	// cohortTime ends a cohort early, whatever its size.
	cohortTime = 50 * time.Millisecond
)

// DefaultOptions has every rule in force.
func DefaultOptions() Options { return Options{Rules: core.DefaultOptions()} }

// ParseOptions reads the options of a spec such as multiphase:rule=literal,fair=off
// or multiphase:cohort,cohort=8.
func ParseOptions(spec locks.Spec) (Options, error) {
	if spec.Name != Name {
		return Options{}, fmt.Errorf("lock %q: want %s: %w", spec, Name, locks.ErrInvalid)
	}
	r := spec.Reader()
	o := DefaultOptions()
	if r.Variant(cohortVariant) == cohortVariant {
		o.Cohort = r.Int("cohort", cohortUsual, 1, cohortMost)
	}
	if r.Choice("rule", core.RuleFlow.String(), core.RuleLiteral.String()) == core.RuleLiteral.String() {
		o.Rules.Rule = core.RuleLiteral
	}
	o.Rules.Fair = r.Bool("fair", o.Rules.Fair)
	o.Rules.View = r.Bool("view", o.Rules.View)
	o.Rules.Rounds = r.Bool("rounds", o.Rules.Rounds)
	return o, r.Err()
}

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string {
	word := map[bool]string{true: "on", false: "off"}
	spec := locks.Spec{Name: Name, Options: map[string]string{
		"rule": o.Rules.Rule.String(), "fair": word[o.Rules.Fair], "view": word[o.Rules.View], "rounds": word[o.Rules.Rounds],
	}}
	if o.Cohort > 0 {
		spec.Variant, spec.Options["cohort"] = cohortVariant, strconv.Itoa(o.Cohort)
	}
	return spec.String()
}

// Algorithm is how peers with these options are made, for explorations and
// simulations.
func (o Options) Algorithm() peercore.Algorithm[core.State, core.Message] {
	return peercore.Algorithm[core.State, core.Message]{
		Spec: Options{Rules: o.Rules}.String(), // peers with other cohorts fit
		New: func(self int, peers peercore.Set, _ bool) core.State {
			return core.New(&core.Config{Self: self, Peers: peers, Alone: o.Alone, Options: o.Rules})
		},
		Append:   appendMessage,
		Decode:   decodeMessage,
		Renumber: core.RenumberMessage,
	}
}
