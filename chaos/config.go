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
	// Heal returns which of the workload's traffic contradicts that the impairment was in force.
	Heal(ctx context.Context, id string) (contradicted string, err error)
	Probes(ctx context.Context) (link.Report, error)
}

var _ LinkControl = (*link.Client)(nil)

// NodeControl controls processes by their names.
type NodeControl interface {
	Kill(ctx context.Context, node string) error
	// CutPower kills a node, whose writes must be tracked, and discards what it had not synced to disk.
	CutPower(ctx context.Context, node string, how damage.Power) (history.Lost, error)
	// Pause stops a node at once or, if point is not "", when it next reaches that point of its work. It
	// returns once the node is stopped; a node that does not reach the point in time runs on.
	Pause(ctx context.Context, node, point string, within time.Duration) error
	Resume(ctx context.Context, node string) error
	// Restart kills a node if it runs, starts it (with an empty data directory if wipe is set) and waits
	// until it is ready.
	Restart(ctx context.Context, node string, wipe bool) error
	State(ctx context.Context, node string) (string, error) // one of history's states, or of the agent's own
	// SetClock offsets a node's wall clock and has it run at a rate from then on (1 is right); NodeClock
	// reads its offset.
	SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error
	NodeClock(ctx context.Context, node string) (time.Duration, error)
	// SetDisk makes a node's disk slow, full or normal; Disk returns what that has done since.
	SetDisk(ctx context.Context, node string, disk damage.Disk) error
	Disk(ctx context.Context, node string) (damage.Seen, error)
}

// External begins and ends faults that the lab cannot make itself; run is the command as the scenario has it.
type External interface {
	// Start returns once the fault is in force or on its way. It may stop the given hosts, if any.
	Start(ctx context.Context, run, hosts []string) error
	// Stop returns once everything is restored; it does nothing if there is nothing to undo.
	Stop(ctx context.Context, run []string) error
}

// Config is what [Run] and [NewHand] need; every field must be set.
type Config struct {
	Inventory fault.Inventory
	Links     map[string]LinkControl // by host, of all hosts of the inventory
	Nodes     map[string]NodeControl // by node, likewise
	Resolver  fault.Resolver
	External  External
	Recorder  history.Recorder
	Log       *slog.Logger

	// Away is how long a node that lost its data stays away at least, so that the grants it forgot have
	// expired: the lock's lease, unless its options say otherwise.
	Away time.Duration
	// Lasts is the measured time of the run, where that is longer than its timeline.
	Lasts time.Duration
	// ProofTime is how long the probes may take to see a fault.
	ProofTime time.Duration
}

// DefaultConfig has everything but the interfaces and the inventory.
func DefaultConfig() Config {
	return Config{
		Log:       slog.New(slog.DiscardHandler),
		ProofTime: 2 * time.Second,
	}
}
