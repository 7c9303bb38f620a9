package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/nodes/topology"
	"locklab/reports/result"
)

// The times of a run that the user does not set.
const (
	DefaultDuration = 8 * time.Second
	DefaultWarmup   = time.Second
	QuickDuration   = 1750 * time.Millisecond
	QuickWarmup     = 250 * time.Millisecond

	// overhead is about what a run needs beside its warm-up and its measured time:
	// starting and stopping the processes, reading the history.
	overhead = 400 * time.Millisecond
)

// DefaultScenarios are run when the user names none.
func DefaultScenarios() []string {
	return []string{"baseline", "zone-latency", "zone-partition", "zone-failure"}
}

// Config is one comparison, checked.
type Config struct {
	Locks []catalog.Lock
	// Unavailable says why locks are left out of a comparison of all.
	Unavailable []string
	Scenarios   []scenario.Scenario
	Topology    *topology.Topology
	Workload    catalog.Workload
	Load        catalog.Load  // the workload, with its flags
	Settings    string        // those flags, as name=value name=value
	Duration    time.Duration // measured, of each run
	Warmup      time.Duration // before it
	Rate        float64       // operations per second; 0 is the workload's default
	Repeat      int
	Seed        uint64
	Dir         string            // of the report
	Token       string            // of running agents
	Wait        time.Duration     // for running agents that do not answer yet
	Command     string            // as the user typed it
	Args        []string          // the same in pieces, without the program
	External    external.Programs // that scenarios may run

	// Suite leaves out combinations that do not apply, which are then in Unfit, and locks
	// that have no server here, which are then in Unavailable: it is made for any machine.
	Suite bool
	Unfit []result.Unfit
}

// Use reads the topology and the scenarios by name or path, and checks that they
// fit each other and the workload.
func (c *Config) Use(topologyName string, scenarioNames []string) (err error) {
	if c.Topology, err = topology.Load(topologyName, RoleNames()...); err != nil {
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
	if c.Rate == 0 {
		c.Rate = c.Workload.Rate
	}
	if err := c.checkScenarios(); err != nil {
		return err
	}
	return c.checkNodes()
}

// checkNodes sees that the topology has what the locks need.
func (c *Config) checkNodes() error {
	for _, lock := range c.Locks {
		for _, need := range lock.Roles() {
			if len(c.Topology.NodesOf(need)) == 0 {
				why := c.Topology.Without[need]
				if why != "" {
					why = ": " + why
				}
				return fmt.Errorf("--topology %s: it has no node with the role %s, which %s needs%s", c.Topology.Name, need, lock, why)
			}
		}
	}
	return nil
}

// CheckServers sees that this machine has the servers that it is to run.
func (c *Config) CheckServers() error {
	for _, lock := range c.Locks {
		for _, s := range lock.Servers {
			here := func(h topology.Host) bool { return h.Agent == "" }
			if s.Missing == nil || !slices.ContainsFunc(c.Topology.HostsOf(s.Name), here) {
				continue // the other hosts' agents say what they have
			}
			if err := s.Missing(); err != nil {
				return fmt.Errorf("--locks: %s: %w", lock, err)
			}
		}
	}
	return nil
}

// LeaveOut takes away the locks without a server here, and says why.
func (c *Config) LeaveOut() {
	all := c.Locks
	c.Locks = nil
	for _, lock := range all {
		one := Config{Locks: []catalog.Lock{lock}, Topology: c.Topology}
		if err := one.CheckServers(); err != nil {
			c.Unavailable = append(c.Unavailable, fmt.Sprintf("%s is unavailable: %v", lock, errors.Unwrap(err)))
			c.Unfit = slices.DeleteFunc(c.Unfit, func(u result.Unfit) bool { return u.Lock == lock.String() })
			continue
		}
		c.Locks = append(c.Locks, lock)
	}
}

// loads is what is asked of the locks, for who compares; of several parts each by its number.
func loads(parts []Config) string {
	if len(parts) == 1 {
		return parts[0].load()
	}
	var all []string
	for i, c := range parts {
		for setting := range strings.FieldsSeq(c.load()) {
			all = append(all, fmt.Sprintf("%d.%s", i+1, setting))
		}
	}
	return strings.Join(all, " ")
}

// load is what is asked of every lock.
func (c *Config) load() string {
	return strings.TrimSpace(fmt.Sprintf("workload=%s rate=%v duration=%v warmup=%v %s", c.Workload.Name, c.Rate, c.Duration, c.Warmup, c.Settings))
}

// fits says whether the combination applies.
func (c *Config) fits(lock catalog.Lock, s scenario.Scenario) bool {
	return !slices.ContainsFunc(c.Unfit, func(u result.Unfit) bool { return u.Lock == lock.String() && u.Scenario == s.Name })
}

// aboutRun is how long one run will take, roughly.
func (c Config) aboutRun() time.Duration { return c.Warmup + c.Duration + overhead }
