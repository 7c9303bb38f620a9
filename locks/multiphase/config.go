package multiphase

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/mesh"
	"locklab/locks/multiphase/core"
	"locklab/locks/seed"
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

// Config is what a [Locker] is made of. Zero fields with a default take it.
type Config struct {
	ID   string // unique in the cluster
	Rank int    // priority, unique in the cluster, 0 (highest) to mesh.MaxRank
	// Cluster is a name that all peers share; peers of another cluster are refused.
	Cluster string
	Peers   []Peer // all others; Addr is needed for those with a greater Rank
	// Listener accepts connections of peers with a lower Rank. The Locker owns it.
	Listener net.Listener
	// Alone lets this peer take locks with nobody connected before it has once been
	// connected to every other peer. Two peers that start so on the two sides of a
	// cut split the lock from the beginning.
	Alone   bool
	Options Options // zero: DefaultOptions

	Timing mesh.Timing
	Limits mesh.Limits
	// Resources bounds how many resources this peer keeps in memory, its own and
	// those that others ask for; default 1,048,576.
	Resources int

	Clock clock.Clock
	Seed  seed.Seed
	Log   *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	if c.Options == (Options{}) {
		c.Options = DefaultOptions()
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Resources == 0 {
		c.Resources = 1 << 20
	}
	return c
}

// rules is the part of the config that the pure core needs.
func (c Config) rules() (*core.Config, error) {
	if c.Rank < 0 || c.Rank >= core.MaxPeers {
		return nil, fmt.Errorf("multiphase: Rank %d should be from 0 to %d: %w", c.Rank, core.MaxPeers-1, locks.ErrInvalid)
	}
	if c.Options.Cohort < 0 || c.Options.Cohort > cohortMost {
		return nil, fmt.Errorf("multiphase: Options.Cohort is %d, want 0 to %d: %w", c.Options.Cohort, cohortMost, locks.ErrInvalid)
	}
	if c.Resources < shardCount {
		return nil, fmt.Errorf("multiphase: Resources is %d, want at least %d: %w", c.Resources, shardCount, locks.ErrInvalid)
	}
	var peers core.Set
	for _, p := range c.Peers {
		if p.Rank < 0 || p.Rank >= core.MaxPeers {
			return nil, fmt.Errorf("multiphase: peer %q: rank %d should be from 0 to %d: %w", p.ID, p.Rank, core.MaxPeers-1, locks.ErrInvalid)
		}
		peers = peers.With(p.Rank)
	}
	return &core.Config{Self: c.Rank, Peers: peers, Alone: c.Alone, Options: c.Options.Rules}, nil
}

func (c Config) mesh(handler mesh.Handler) mesh.Config {
	return mesh.Config{
		Self: Peer{ID: c.ID, Rank: c.Rank}, Peers: c.Peers,
		Cluster: c.Cluster, Protocol: Options{Rules: c.Options.Rules}.String(),
		Listener: c.Listener, Handler: handler, Timing: c.Timing, Limits: c.Limits,
		Clock: c.Clock, Seed: c.Seed.Child("mesh"), Log: c.Log,
	}
}

// closeListener is for a New that fails before the mesh owns the listener.
func (c Config) closeListener(err error) error {
	if c.Listener != nil {
		return errors.Join(err, c.Listener.Close())
	}
	return err
}
