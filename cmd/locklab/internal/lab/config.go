package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// The times of a run that the user does not set.
const (
	DefaultDuration = 8 * time.Second
	DefaultWarmup   = time.Second
	QuickDuration   = 2 * time.Second
	QuickWarmup     = 500 * time.Millisecond

	// overhead is about what a run needs beside its warm-up and its measured time:
	// starting and stopping the processes, reading the history.
	overhead = 1500 * time.Millisecond
)

// The load of the matchmaking workload that the user does not set.
const (
	DefaultGroups = 20
	DefaultSeats  = 8
)

// DefaultRate of the matchmaking workload, in matches per second.
const DefaultRate = 300

// The workloads.
const (
	Matchmaking = "matchmaking"
	Mutex       = "mutex"
)

// Workload describes a workload for lists.
type Workload struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Workloads lists what the clients can do.
func Workloads() []Workload {
	return []Workload{
		{Matchmaking, "players arrive for groups; rooms fill, live and close; a room too many is a duplicate"},
		{Mutex, "clients in every master contend for few or many resources; holds must not overlap"},
	}
}

// WorkloadNames lists the workloads' names.
func WorkloadNames() []string {
	var names []string
	for _, w := range Workloads() {
		names = append(names, w.Name)
	}
	return names
}

// DefaultScenarios are run when the user names none.
func DefaultScenarios() []string {
	return []string{"baseline", "zone-latency", "zone-partition", "zone-failure"}
}

// Config is one comparison, checked.
type Config struct {
	Locks     []locks.Spec
	Scenarios []scenario.Scenario
	Topology  *topology.Topology
	Workload  string
	Duration  time.Duration // measured, of each run
	Warmup    time.Duration // before it
	Rate      float64       // operations per second; 0 is the workload's default
	Repeat    int
	Seed      uint64
	Dir       string            // of the report
	Token     string            // of running agents
	Wait      time.Duration     // for running agents that do not answer yet
	Command   string            // as the user typed it
	External  external.Programs // that scenarios may run

	// Of the matchmaking workload.
	Groups, Seats int
	// Of the mutex workload.
	Clients, Resources int
	Hold               time.Duration
	HoldSet            bool // by the user: scenarios that need longer holds do not get them
}

// Load reads the topology and the scenarios by name or path, and checks that they
// fit each other and the workload.
func (c *Config) Load(topologyName string, scenarioNames []string) (err error) {
	if !slices.Contains(WorkloadNames(), c.Workload) {
		return fmt.Errorf("--workload: unknown workload %q (known: %s)", c.Workload, strings.Join(WorkloadNames(), ", "))
	}
	if c.Topology, err = topology.Load(topologyName); err != nil {
		return fmt.Errorf("--topology: %w", err)
	}
	if len(scenarioNames) == 0 {
		scenarioNames = DefaultScenarios()
	}
	for _, name := range scenarioNames {
		s, err := scenario.Load(name)
		if err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		if slices.ContainsFunc(c.Scenarios, func(o scenario.Scenario) bool { return o.Name == s.Name }) {
			return fmt.Errorf("--scenarios: %q is named twice", s.Name)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	if err := c.checkScenarios(); err != nil {
		return err
	}
	if c.Workload == Matchmaking && c.Rate == 0 {
		c.Rate = DefaultRate
	}
	return c.checkServers()
}

// checkServers sees that the topology has what the locks need.
func (c *Config) checkServers() error {
	if c.Workload == Matchmaking && len(c.Topology.NodesOf(role.Worker)) == 0 {
		return fmt.Errorf("--topology %s: it has no worker: matchmaking needs at least one", c.Topology.Name)
	}
	for _, spec := range c.Locks {
		entry, err := catalog.Lookup(spec)
		if err != nil {
			return err
		}
		for _, need := range entry.Needs {
			if len(c.Topology.NodesOf(need)) == 0 {
				return fmt.Errorf("--topology %s: it has no node with the role %s, which %s needs", c.Topology.Name, need, spec)
			}
		}
	}
	return nil
}

// Runs is how many runs the comparison has.
func (c Config) Runs() int { return len(c.Locks) * len(c.Scenarios) * c.Repeat }

// About is how long the comparison will take, roughly.
func (c Config) About() time.Duration { return time.Duration(c.Runs()) * c.aboutRun() }

func (c Config) aboutRun() time.Duration { return c.Warmup + c.Duration + overhead }

// TopologyNames lists the built-in topologies.
func TopologyNames() []string {
	all, err := topology.List()
	if err != nil {
		return nil // built-in ones are tested to load
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return names
}
