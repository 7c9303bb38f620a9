package lab

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/nodes/topology"
	"locklab/reports/live"
	"locklab/workloads/result"
)

// The times of a run that the user does not set.
const (
	DefaultDuration = 8 * time.Second
	DefaultWarmup   = time.Second
	QuickDuration   = 4500 * time.Millisecond // of which the shortest faults last for 1.575 s: less shows no lock down
	QuickCalm       = 2 * time.Second         // where nothing is broken
	QuickWarmup     = 250 * time.Millisecond

	// overhead is about what a run needs beside its warm-up and its measured time:
	// starting and stopping the processes, reading the history.
	overhead = 400 * time.Millisecond

	// failoverTime is in which a fault settles that no lease does.
	failoverTime = 1500 * time.Millisecond
)

// DefaultScenarios are run when the user names none.
func DefaultScenarios() []string {
	return []string{"baseline", "zone-latency", "zone-partition", "zone-failure"}
}

// QuickLocks and QuickScenarios are those of a quick run: fewer, as each takes its time, and with
// leases of a second.
func QuickLocks() []string {
	return []string{"none", "multiphase", "redlock:ttl=1s", "raft:lease=1s"}
}

// QuickScenarios are beside QuickLocks.
func QuickScenarios() []string { return []string{"baseline", "zone-partition", "zone-failure"} }

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
	Calm        time.Duration // the same where nothing is broken, if it is not 0
	Warmup      time.Duration // before it
	Patience    time.Duration // of players and clients; 0 follows the topology
	Rate        float64       // operations per second; 0 is the workload's default
	Capacity    bool          // measured after each run in which nothing is broken
	usualRate   bool          // it is
	Repeat      int
	Episodes    int // how often each run goes through its scenario; 0 is once
	Seed        uint64
	Dir         string            // of the report
	Token       string            // of running agents
	Wait        time.Duration     // for running agents that do not answer yet
	Command     string            // as the user typed it
	Args        []string          // the same in pieces, without the program
	External    external.Programs // that scenarios may run
	Programs    catalog.Programs  // of the locks that the user brings
	Live        *live.Board       // shows the runs to browsers; nil is nobody
	Toxiproxy   net.Listener      // where toxiproxy's API is served over the links; nil is nowhere

	// Suite leaves out combinations that do not apply, which are then in Unfit, and locks
	// for which the topology lacks something, which are then in Unavailable: it is made for any
	// machine.
	Suite    bool
	Unfit    []result.Unfit // without Suite those of scenarios that apply to another of the Locks
	outlooks map[result.Key]*outlook
}

// UseTopology reads the topology by name or path. Hosts that name no agent have the
// running one at that address, unless it is "": see [topology.Topology.WithAgents].
func (c *Config) UseTopology(name, agents string) (err error) {
	if c.Topology, err = topology.Load(name, RoleNames()...); err != nil {
		return fmt.Errorf("--topology: %w", err)
	}
	if agents == "" {
		return nil
	}
	if c.Topology, err = c.Topology.WithAgents(agents); err != nil {
		return fmt.Errorf("--agents: %w", err)
	}
	return nil
}

// UseLocks takes the locks of these names, for which the topology must have what they
// need; of "all", and of a suite's, it takes those for which it has, and says why the others
// are unavailable. Those that the user brings need not be named.
func (c *Config) UseLocks(names []string, own ...catalog.Lock) (err error) {
	whatFits := c.Suite
	if slices.Equal(names, []string{"all"}) {
		names, whatFits = catalog.Names(), true
	}
	if c.Locks, err = catalog.ParseList("--locks", names, own...); err != nil {
		return err
	}
	for _, l := range own {
		if !named(c.Locks, l.String()) {
			c.Locks = append(c.Locks, l)
		}
	}
	c.Unavailable = nil
	var lacking error
	c.Locks = slices.DeleteFunc(c.Locks, func(lock catalog.Lock) bool {
		err := c.lacks(lock)
		if err == nil {
			return false
		}
		c.Unavailable = append(c.Unavailable, fmt.Sprintf("%s is unavailable: %v", lock, err))
		if lacking == nil {
			lacking = fmt.Errorf("--locks: %s: %w", lock, err)
		}
		return true
	})
	if whatFits {
		return nil
	}
	return lacking
}

func named(all []catalog.Lock, spec string) bool {
	return slices.ContainsFunc(all, func(l catalog.Lock) bool { return l.String() == spec })
}

// lacks is why a lock cannot be compared on the topology, nil if it can: it has no node
// of a role that the lock needs, or a host of it is this machine, which has not the
// server. What other hosts have is for their agents to say, when they are to start it.
func (c *Config) lacks(lock catalog.Lock) error {
	for _, need := range lock.Roles() {
		if len(c.Topology.NodesOf(need)) == 0 {
			err := fmt.Errorf("the topology %s has no node with the role %s", c.Topology.Name, need)
			if why := c.Topology.Without[need]; why != "" {
				err = fmt.Errorf("%w: %s", err, why)
			}
			return err
		}
	}
	for _, s := range lock.Servers {
		here := func(h topology.Host) bool { return h.Agent == "" }
		if s.Missing != nil && slices.ContainsFunc(c.Topology.Subset(s.Name).Hosts, here) {
			if err := s.Missing(); err != nil {
				return err
			}
		}
	}
	return nil
}

// UseScenarios reads the scenarios by name or path, and checks that topology, locks and
// workload fit them.
func (c *Config) UseScenarios(names []string) error {
	if len(names) == 0 {
		names = DefaultScenarios()
	}
	for _, name := range names {
		s, err := scenario.Load(name, c.Topology.Zones[0].Short)
		if err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		if slices.ContainsFunc(c.Scenarios, func(o scenario.Scenario) bool { return o.Name == s.Name }) {
			return fmt.Errorf("--scenarios: %q is named twice", s.Name)
		}
		if c.Episodes > 1 {
			s = s.Again(c.Episodes)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	c.Duration *= time.Duration(max(1, c.Episodes))
	if c.Rate == 0 {
		c.Rate, c.usualRate = c.Workload.Rate, true
	}
	return c.checkScenarios()
}

// usualPatience is that where round trips are short.
const usualPatience = 2500 * time.Millisecond

// patience is how long players and clients wait.
func (c *Config) patience() time.Duration { return cmp.Or(c.Patience, c.Topology.Limit(usualPatience)) }

// rateUnder is the rate that is offered under a scenario: where the user does not say, no more than
// can be served while clients hold as the scenario wants it.
func (c *Config) rateUnder(s scenario.Scenario) float64 {
	if !c.usualRate {
		return c.Rate
	}
	return c.Load.Fitting(c.Rate, s.Wants)
}

// seats are those of a room, 0 where players get none.
func (c *Config) seats() int {
	if players, are := c.Load.(*catalog.Matches); are {
		return players.Seats
	}
	return 0
}

// loads is the load of each part, for comparisons; of several parts each by its number.
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

// titles are those of the scenarios, in the order in which they are asked for.
func titles(parts []Config) (all []result.Scenario) {
	for _, c := range parts {
		for _, s := range c.Scenarios {
			if !slices.ContainsFunc(all, func(o result.Scenario) bool { return o.Name == s.Name }) {
				all = append(all, result.Scenario{Name: s.Name, Title: s.Title, TitleKO: s.TitleKO})
			}
		}
	}
	return all
}

// load is what is asked of every lock.
func (c *Config) load() string {
	patience := ""
	if p := c.patience(); p != usualPatience {
		patience = fmt.Sprintf("patience=%v ", p)
	}
	return strings.TrimSpace(fmt.Sprintf("workload=%s rate=%v duration=%v warmup=%v %s%s",
		c.Workload.Name, c.Rate, c.Duration, c.Warmup, patience, c.Settings))
}

// fits says whether the combination applies.
func (c *Config) fits(lock catalog.Lock, s scenario.Scenario) bool {
	return c.outlook(lock, s).unfit == nil
}

// measures is for how long a run measures, as it is planned: until its last fault has settled, or longer
// if the duration is. A fault that takes longer to heal has the run last longer.
func (c Config) measures(lock catalog.Lock, s scenario.Scenario) time.Duration {
	d := c.Duration
	if len(s.Timeline) == 0 && c.Calm > 0 {
		d = c.Calm
	}
	for _, p := range s.Schedule(c.Duration) {
		d = max(d, p.Window.Until+c.settles(lock))
	}
	return d.Round(time.Millisecond)
}

// settles is for how long a run goes on after a fault has ended: while it settles, and two seconds
// more, so that a lock that does not come back is seen.
func (c Config) settles(lock catalog.Lock) time.Duration {
	return max(c.Topology.Limit(failoverTime), lock.Lease+500*time.Millisecond) + c.Topology.Limit(2*time.Second)
}

// aboutRun is how long one run with the lock will take, roughly.
func (c Config) aboutRun(lock catalog.Lock, s scenario.Scenario) time.Duration {
	about := c.Warmup + c.measures(lock, s) + overhead + lock.Starts()
	if c.Capacity && len(s.Timeline) == 0 {
		about += aboutCapacity()
	}
	return about
}

// filesLeast is how many files this process must be able to open: the links carry two sockets for every connection
// of a wire, and more of them while a fault holds their bytes.
const filesLeast = 4096

// CheckFiles sees that it may. Otherwise agents and links stop accepting connections and the run hangs. The Go runtime
// has raised the limit as far as it may.
func CheckFiles() error {
	var have syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &have); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if have.Cur < filesLeast {
		return fmt.Errorf("a process may open %d files here, and the lab needs %d for its links: "+
			"raise the limit, such as with `ulimit -n %d`", have.Cur, filesLeast, filesLeast)
	}
	return nil
}
