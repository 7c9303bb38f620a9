package lab

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks"
	"locklab/nodes/topology"
	"locklab/reports/live"
	"locklab/workloads/capacity"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// The times of a run that the user does not set.
const (
	DefaultDuration = 8 * time.Second
	DefaultWarmup   = time.Second
	QuickDuration   = 4500 * time.Millisecond // its shortest faults last 1.575 s: less shows no lock down
	QuickCalm       = 2 * time.Second         // where nothing is broken
	QuickWarmup     = 250 * time.Millisecond

	// overhead is about how long a run takes to start and stop processes, and to read the history.
	overhead = 400 * time.Millisecond

	// failoverTime is how long a fault takes to settle where no lease does.
	failoverTime = 1500 * time.Millisecond
)

// DefaultScenarios are run when the user names none.
func DefaultScenarios() []string {
	return []string{"baseline", "zone-latency", "zone-partition", "zone-failure"}
}

// QuickLocks are those of a quick run: few, with leases of a second.
func QuickLocks() []string {
	return []string{"none", "multiphase", "redlock:ttl=1s", "raft:lease=1s"}
}

// QuickScenarios are those of a quick run.
func QuickScenarios() []string { return []string{"baseline", "zone-partition", "zone-failure"} }

// Config is one comparison. Its user sets fields, in any order, and calls [Config.Resolve] once.
type Config struct {
	Names       Names          // that Resolve reads into Topology, Locks and Scenarios
	Own         []catalog.Lock // that the user brings: they need not be named
	Locks       []catalog.Lock
	Unavailable []string // why locks are left out of a comparison of all
	Scenarios   []scenario.Scenario
	Topology    *topology.Topology
	Workload    catalog.Workload
	Load        catalog.Load  // the workload, with its flags
	Settings    string        // those flags, as name=value name=value
	Duration    time.Duration // measured, of each run
	Calm        time.Duration // the same where nothing is broken, if it is not 0
	Warmup      time.Duration // before it
	OwnDuration bool          // the user's; else Duration follows the scenarios, and with Calm the round trips
	OwnWarmup   bool          // the user's; else it follows them
	Patience    time.Duration // of players and clients; 0 follows the topology
	Rate        float64       // operations per second; 0 is the workload's default
	Capacity    bool          // measured after each run in which nothing is broken
	Repeat      int
	Episodes    int // how often each run goes through its scenario; 0 is once
	Seed        uint64
	Dir         string            // of the report
	Token       string            // of running agents
	Wait        time.Duration     // for running agents that do not answer yet
	Args        []string          // of the program, as the user typed them
	External    external.Programs // that scenarios may run
	Programs    catalog.Programs  // of the locks that the user brings
	Live        *live.Board       // shows the runs to browsers; may be nil
	Toxiproxy   net.Listener      // for toxiproxy's API over the links; may be nil

	// Suite puts combinations that do not apply into Unfit, and locks for which the topology lacks something into
	// Unavailable. Without it they are errors.
	Suite    bool
	Unfit    []result.Unfit // without Suite only of scenarios that apply to another lock
	outlooks map[result.Key]*outlook
}

// Names are those of a topology, locks and scenarios, or their paths.
type Names struct {
	Topology, Agents string // Agents is the address of agents for hosts that name none: [topology.Topology.WithAgents]
	Locks, Scenarios []string
}

// Resolve reads what is named, and checks that it fits together.
func (c *Config) Resolve() error {
	for _, read := range []func() error{c.readTopology, c.readLocks, c.readScenarios} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) readTopology() (err error) {
	if c.Topology, err = topology.Load(c.Names.Topology, catalog.RoleNames()...); err != nil {
		return fmt.Errorf("--topology: %w", err)
	}
	if c.Names.Agents != "" {
		if c.Topology, err = c.Topology.WithAgents(c.Names.Agents); err != nil {
			return fmt.Errorf("--agents: %w", err)
		}
	}
	if !c.OwnDuration {
		c.Duration, c.Calm = c.Topology.Limit(c.Duration), c.Topology.Limit(c.Calm)
	}
	if !c.OwnWarmup {
		c.Warmup = c.Topology.Limit(c.Warmup)
	}
	return nil
}

// readLocks refuses locks for which the topology lacks something. Of all locks, and of a suite's, it leaves those
// out and says why they are unavailable.
func (c *Config) readLocks() (err error) {
	names, whatFits := c.Names.Locks, c.Suite
	if slices.Equal(names, []string{"all"}) {
		names, whatFits = catalog.Names(), true
	}
	if c.Locks, err = catalog.ParseList(names, c.Own...); err != nil {
		return fmt.Errorf("--locks: %w", err)
	}
	for _, l := range c.Own {
		if !slices.Contains(catalog.Texts(c.Locks), l.String()) {
			c.Locks = append(c.Locks, l)
		}
	}
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

// lacks is why a lock cannot be compared: the topology has no node of a role that it needs, or this machine has a host
// but not the server. Agents elsewhere say what they lack when they are to start it.
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

// readScenarios checks that topology, locks and workload fit the scenarios.
func (c *Config) readScenarios() error {
	for _, name := range c.Names.Scenarios {
		s, err := scenario.Load(name, c.Topology.Zones[0].Short)
		if err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		if slices.ContainsFunc(c.Scenarios, func(o scenario.Scenario) bool { return o.Name == s.Name }) {
			return fmt.Errorf("--scenarios: %q is named twice", s.Name)
		}
		if !c.OwnDuration {
			c.Duration = max(c.Duration, s.MinDuration)
		}
		if c.Episodes > 1 {
			s = s.Again(c.Episodes)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	c.Duration *= time.Duration(max(1, c.Episodes))
	return c.checkScenarios()
}

// resources are what the workload locks; without one any name will do.
func (c *Config) resources(s scenario.Scenario) resources {
	if c.Load == nil {
		return resources{}
	}
	return resources{c.Workload.Resource, c.Load.Resources(s.Wants)}
}

func (c *Config) key(lock catalog.Lock, s scenario.Scenario) result.Key {
	return result.Key{Lock: lock.String(), Scenario: s.Name, Workload: c.Workload.Name}
}

// outlook is the combination's, made when the scenarios were checked.
func (c *Config) outlook(lock catalog.Lock, s scenario.Scenario) *outlook {
	if o, known := c.outlooks[c.key(lock, s)]; known {
		return o
	}
	return newOutlook(lock.Part(c.Topology), lock, s, c.Duration, c.resources(s))
}

// checkScenarios refuses scenarios that cannot be run. One that applies to some of the locks leaves out the others.
func (c *Config) checkScenarios() error {
	c.outlooks = map[result.Key]*outlook{}
	for _, s := range c.Scenarios {
		if err := c.checkScenario(s); err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		applies := false
		for _, lock := range c.Locks {
			o := c.outlook(lock, s)
			c.outlooks[c.key(lock, s)] = o
			applies = applies || o.unfit == nil
		}
		for _, lock := range c.Locks {
			err := c.outlook(lock, s).unfit
			_, elsewhere := errors.AsType[otherRunError](err)
			switch {
			case err == nil:
			case applies, c.Suite, elsewhere && len(c.Scenarios) > 1:
				_, notHere := errors.AsType[notHereError](err)
				c.Unfit = append(c.Unfit, result.Unfit{Key: c.key(lock, s), Why: Said(err), NotHere: notHere})
			default:
				return fmt.Errorf("--scenarios: %s does not apply to %s on the topology %s: %w", s.Name, lock, c.Topology.Name, err)
			}
		}
	}
	return nil
}

// checkScenario refuses a scenario that would fit no lock.
func (c *Config) checkScenario(s scenario.Scenario) error {
	if err := s.CheckLocks(c.knows); err != nil {
		return err
	}
	for _, step := range s.Timeline {
		for _, role := range step.Fault.LoseData {
			if err := checkData(role); err != nil {
				return fmt.Errorf("%s:%d: fault %s: lose_data: %w: %w", s.File, step.Line, step.ID, err, scenario.ErrInvalid)
			}
		}
		if run := step.Fault.Run; len(run) > 0 {
			if err := c.External.Check(run); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	if err := s.CheckTimes(c.Duration); err != nil && c.Duration >= s.MinDuration {
		return fmt.Errorf("--duration %v: %w", c.Duration, err)
	}
	return nil
}

// knows refuses unknown locks.
func (c *Config) knows(spec locks.Spec) error {
	if slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return l.Program && l.String() == spec.String() }) {
		return nil
	}
	_, err := catalog.Bind(spec)
	return err
}

// Expected is what the rules expect of a lock under a scenario in a topology; unfit is why it does not apply.
func Expected(nameOrPath, place string, lock catalog.Lock) (e scenario.Expectation, unfit, err error) {
	topo, err := topology.Load(place, catalog.RoleNames()...)
	if err != nil {
		return e, nil, err
	}
	s, err := scenario.Load(nameOrPath, topo.Zones[0].Short)
	if err != nil {
		return e, nil, err
	}
	o := newOutlook(lock.Part(topo), lock, s, max(DefaultDuration, s.MinDuration), resources{})
	if o.expect.SafetyBy.Safety == "" { // else only this machine or this duration does not fit
		return e, o.unfit, nil
	}
	return o.expect, nil, nil
}

// patience is how long players and clients wait.
func (c *Config) patience() time.Duration {
	return cmp.Or(c.Patience, c.Topology.Limit(history.Patience))
}

// rateUnder is the rate offered under a scenario: the user's, or what can be served while clients do as it wants.
func (c *Config) rateUnder(s scenario.Scenario) float64 {
	if c.Rate > 0 {
		return c.Rate
	}
	return c.Load.Fitting(c.Workload.Rate, s.Wants)
}

// rate is the user's, or else the workload's.
func (c *Config) rate() float64 { return cmp.Or(c.Rate, c.Workload.Rate) }

// roles are those that any lock of the comparison needs, master and worker first.
func (c *Config) roles() (roles []string) {
	for _, lock := range c.Locks {
		for _, name := range lock.Roles() {
			if !slices.Contains(roles, name) {
				roles = append(roles, name)
			}
		}
	}
	return roles
}

// part is what any lock of the comparison needs of the topology.
func (c *Config) part() *topology.Topology {
	t := c.Topology.Subset(c.roles()...)
	t.Hosts = slices.DeleteFunc(t.Hosts, func(h topology.Host) bool {
		return !slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool {
			_, needed := l.Part(c.Topology).Host(h.Name)
			return needed
		})
	})
	return t
}

// whole has the locks of all parts, and what the parts share.
func whole(parts []Config) Config {
	c := parts[0]
	c.Locks, c.Unavailable, c.Unfit, c.Programs = nil, nil, nil, catalog.Programs{}
	for _, p := range parts {
		maps.Copy(c.Programs, p.Programs)
		c.Unfit = append(c.Unfit, p.Unfit...)
		for _, lock := range p.Locks {
			if !slices.Contains(catalog.Texts(c.Locks), lock.String()) {
				c.Locks = append(c.Locks, lock)
			}
		}
		for _, why := range p.Unavailable {
			if !slices.Contains(c.Unavailable, why) {
				c.Unavailable = append(c.Unavailable, why)
			}
		}
	}
	return c
}

// loads lists the load of each part; each of several with its number.
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

// titles are those of the scenarios, in the user's order.
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

// load is the workload with its settings, as name=value name=value.
func (c *Config) load() string {
	patience := ""
	if p := c.patience(); p != history.Patience {
		patience = fmt.Sprintf("patience=%v ", p)
	}
	return strings.TrimSpace(fmt.Sprintf("workload=%s rate=%v duration=%v warmup=%v %s%s",
		c.Workload.Name, c.rate(), c.Duration, c.Warmup, patience, c.Settings))
}

// fits says whether the combination applies.
func (c *Config) fits(lock catalog.Lock, s scenario.Scenario) bool {
	return c.outlook(lock, s).unfit == nil
}

// measures is the planned measured time: the duration, or until the last fault has settled if that is later.
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

// settles is how long a run goes on after a fault: until it settles, and 2 s more to see a lock that stays down.
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

// aboutCapacity is how long both measurements take.
func aboutCapacity() time.Duration {
	load := capacity.DefaultLoad()
	return 2 * (load.Warmup + load.Duration)
}

// filesLeast suffices for the links: two sockets a connection, and more while a fault holds their bytes.
const filesLeast = 4096

// CheckFiles refuses a lower limit, with which links would stop accepting. The Go runtime has raised it already.
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

// Said is an error for people: without the sentinels at the ends of its clauses.
func Said(err error) string {
	const sentinels = `(?m)(: ([a-z]+: invalid( settings)?|fault: no target|chaos: refused))+(;|$)`
	return regexp.MustCompile(sentinels).ReplaceAllString(err.Error(), "$4")
}
