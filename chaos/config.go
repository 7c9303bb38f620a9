package chaos

import (
	"context"
	"log/slog"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/internal/damage"
	"locklab/workloads/history"
)

// LinkControl controls the links of one host.
type LinkControl interface {
	Apply(ctx context.Context, i link.Impairment) error
	// Heal says what of the workload's traffic contradicts that the impairment was there.
	Heal(ctx context.Context, id string) (contradicted string, err error)
	Probes(ctx context.Context) (link.Report, error)
}

var _ LinkControl = (*link.Client)(nil)

// NodeControl controls processes by their names.
type NodeControl interface {
	Kill(ctx context.Context, node string) error
	// CutPower kills a node and takes what it had not synced from its disk. What cannot be followed is an error.
	CutPower(ctx context.Context, node string, how damage.Power) (history.Lost, error)
	// Pause pauses a node, at once or when it next comes to a point of its work, if that is not "", and
	// returns once it stands still; one that did not come to the point in the time runs on.
	Pause(ctx context.Context, node, point string, within time.Duration) error
	Resume(ctx context.Context, node string) error
	// Restart kills a node if it runs, starts it, with an empty data directory if wipe is set, and returns when it
	// is ready.
	Restart(ctx context.Context, node string, wipe bool) error
	State(ctx context.Context, node string) (string, error) // of history's, or of its own
	// SetClock makes a node's wall clock wrong by so much, and run at a rate from then on (1 is
	// right); NodeClock reads it, and says by how much it is wrong.
	SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error
	NodeClock(ctx context.Context, node string) (time.Duration, error)
	// SetDisk makes a node's disk slow or full, or neither; Disk says what that has done since.
	SetDisk(ctx context.Context, node string, disk damage.Disk) error
	Disk(ctx context.Context, node string) (damage.Seen, error)
}

// External begins and ends what the lab cannot break itself; run is the words of
// the scenario.
type External interface {
	// Start returns once the fault is in force or on its way. The hosts are those
	// that it will stop, if any: that they go away is asked for.
	Start(ctx context.Context, run, hosts []string) error
	// Stop returns once all is as it was; it does nothing if there is nothing to do.
	Stop(ctx context.Context, run []string) error
}

// Config is what [Run] and [NewHand] work with; all of it must be set.
type Config struct {
	Inventory fault.Inventory
	Links     map[string]LinkControl // by host, of all hosts of the inventory
	Nodes     map[string]NodeControl // by node, likewise
	Resolver  fault.Resolver
	External  External
	Recorder  history.Recorder
	Log       *slog.Logger

	// Away is for how long a node that comes back without its memory stays away at least, so
	// that what it has forgotten has run out: the lock's lease, unless its options say otherwise.
	Away time.Duration
	// Lasts is how long the run is measured, where that is longer than its timeline.
	Lasts time.Duration
	// ProofTime is how long a fault may take until the probes see it.
	ProofTime time.Duration
}

// DefaultConfig has everything but the interfaces and the inventory.
func DefaultConfig() Config {
	return Config{
		Log:       slog.New(slog.DiscardHandler),
		ProofTime: 2 * time.Second,
	}
}
