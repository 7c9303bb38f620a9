package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks"
	"locklab/nodes/diskfault"
	"locklab/nodes/fakeclock"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/result"
)

// checkScenarios sees that the scenarios can be run as the user wants them.
func (c *Config) checkScenarios() error {
	for _, s := range c.Scenarios {
		if err := s.CheckLocks(c.knows); err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		if err := s.CheckTopologies(append(topology.Names(), c.Topology.Name)); err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		if err := s.CheckData(checkData); err != nil {
			return fmt.Errorf("--scenarios: %w", err)
		}
		for _, run := range s.External() {
			if err := c.External.Check(run); err != nil {
				return fmt.Errorf("--scenarios: %s: %w", s.Name, err)
			}
		}
		if err := c.misfit(s); err != nil {
			if !c.Suite && len(c.Scenarios) == 1 {
				if slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return c.notFor(s, l) == nil }) {
					return err
				}
				return c.checkTargets(s) // it is for none of them, however long it runs
			}
			for _, lock := range c.Locks {
				c.unfit(lock, s, cmp.Or(c.notFor(s, lock), err))
			}
			continue
		}
		if err := s.CheckTimes(c.Duration); err != nil {
			return fmt.Errorf("--duration %v: --scenarios: %w", c.Duration, err)
		}
		if err := c.checkTargets(s); err != nil {
			return err
		}
	}
	return nil
}

// misfit is why a scenario fits no lock in this run.
func (c *Config) misfit(s scenario.Scenario) error {
	if c.Duration < s.MinDuration {
		return fmt.Errorf("--duration %v: want at least %v for the scenario %s: what it breaks takes so long", c.Duration, s.MinDuration, s.Name)
	}
	err := s.CheckTargets(context.Background(), inventory(c.Topology), anyNode{c.Topology, c.resources(s)}) // nobody is asked
	if errors.Is(err, errNoResource) {
		return fmt.Errorf("--workload %s: %w", c.Workload.Name, err)
	}
	return nil // what else is wrong is told by itself
}

// resources are what the workload locks.
func (c *Config) resources(s scenario.Scenario) resources {
	n, said := c.Load.Resources(s.Wants)
	return resources{c.Workload.Resource, n, said}
}

// knows refuses the names of locks that there are not.
func (c *Config) knows(spec locks.Spec) error {
	if slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return l.Program && l.String() == spec.String() }) {
		return nil
	}
	_, err := catalog.Bind(spec)
	return err
}

// checkData says which roles cannot lose their data.
func checkData(name string) error {
	roles := Roles(nil)
	i := slices.IndexFunc(roles, func(r role.Role) bool { return r.Name == name })
	switch {
	case i < 0:
		return fmt.Errorf("%q is not a role: want one of %s", name, strings.Join(RoleNames(), ", "))
	case roles[i].KeepsData != "":
		return fmt.Errorf("%s: want another role, or none", roles[i].KeepsData)
	default:
		return nil
	}
}

// checkTargets sees that every fault has something to hit, in the topology and among
// what runs for each lock. A lock for which a scenario has nothing is left out of it, if there
// is another one for which it has.
func (c *Config) checkTargets(s scenario.Scenario) error {
	ctx := context.Background() // nobody is asked
	if err := s.CheckTargets(ctx, inventory(c.Topology), anyNode{topo: c.Topology}); err != nil {
		return fmt.Errorf("--scenarios: %w; topology %s has %s", err, c.Topology.Name, contents(c.Topology))
	}
	fits := func(lock catalog.Lock) error {
		if err := c.notFor(s, lock); err != nil {
			return err
		}
		if err := s.CheckLease(c.Duration, lock.Lease, lock.String()); err != nil {
			return err
		}
		runs := lock.Part(c.Topology)
		if err := s.CheckTargets(ctx, inventoryOf(runs, lock), anyNode{topo: runs}); err != nil {
			return err
		}
		if err := s.CheckOverlaps(ctx, c.Duration, inventoryOf(runs, lock), anyNode{topo: runs}); err != nil {
			return err
		}
		return checkAbilities(ctx, s, runs, lock)
	}
	some := slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return fits(l) == nil })
	for _, lock := range c.Locks {
		if err := fits(lock); err != nil {
			if c.Suite || some {
				c.unfit(lock, s, err)
				continue
			}
			return fmt.Errorf("--scenarios: %s does not apply to %s: %w; with the lock %s there are %s", s.Name, lock, err, lock, contents(lock.Part(c.Topology)))
		}
	}
	return nil
}

// notFor is why a scenario is not for a lock, however long it runs.
func (c *Config) notFor(s scenario.Scenario, lock catalog.Lock) error {
	if e, _ := s.Expect(lock.Spec, c.Topology.Name); e.NotFor {
		return fmt.Errorf("%s:%d: %s", s.File, e.Line, e.Why)
	}
	return nil
}

// unfit leaves a combination out.
func (c *Config) unfit(lock catalog.Lock, s scenario.Scenario, why error) {
	c.Unfit = append(c.Unfit, result.Unfit{Lock: lock.String(), Scenario: s.Name, Workload: c.Workload.Name, Why: Said(why)})
}

// checkAbilities sees that what a scenario wants of nodes is something that their roles can do.
func checkAbilities(ctx context.Context, s scenario.Scenario, topo *topology.Topology, lock catalog.Lock) error {
	return eachHit(ctx, s, topo, lock, func(step scenario.Step, plan fault.Plan, node topology.Placed, r role.Role) error {
		refuse := func(what, want string) error {
			return fmt.Errorf("%s:%d: fault %s: %s: %s: %w", s.File, step.Line, step.ID, what, want, scenario.ErrInvalid)
		}
		if plan.Point != "" && !r.Points {
			return refuse(fmt.Sprintf("%s comes to no point %s", node.Name, plan.Point), "want masters, where the locks' clients are")
		}
		if beyond := beyondProgram(plan, node.Name); lock.Program && r.Name == role.Master && beyond != "" {
			return refuse("it would hit "+node.Name+", but not the lock program there, which has "+beyond, "want another fault, or other nodes")
		}
		host, _ := topo.Host(node.Host)
		here := host.Agent == ""
		if here && slices.Contains(plan.Disks, node.Name) {
			return diskfault.Missing()
		}
		if !slices.Contains(plan.Clocks, node.Name) || r.OwnClock {
			return nil
		}
		if r.Clock == nil {
			return refuse(fmt.Sprintf("the clock of %s cannot be set", node.Name), "want servers of another role than "+r.Name)
		}
		if here {
			return fakeclock.Missing()
		}
		return nil
	})
}

// beyondProgram is what a lock program has of its own or of the machine, although the plan breaks
// its master's; "" if the plan reaches the program, too. (libfaketime moves no clock of a program
// that is not linked to libc, such as one in Go; and where it does, its version 0.9.10, which
// Debian 12 has, fails each sleep of Python.)
func beyondProgram(plan fault.Plan, node string) string {
	switch {
	case slices.Contains(plan.Clocks, node):
		return "the machine's clock"
	case slices.Contains(plan.Wipe, node), slices.Contains(plan.Disks, node) && plan.Disk.Full:
		return "its files elsewhere"
	}
	return ""
}

// needsCalls are the calls of each role's nodes that must be stopped, so that the scenario can
// make their disks slow or full.
func needsCalls(ctx context.Context, s scenario.Scenario, topo *topology.Topology, lock catalog.Lock) map[string]diskfault.Calls {
	calls := map[string]diskfault.Calls{}
	_ = eachHit(ctx, s, topo, lock, func(_ scenario.Step, plan fault.Plan, node topology.Placed, r role.Role) error { // was checked before the start
		switch {
		case !slices.Contains(plan.Disks, node.Name):
		case plan.Disk.Full || calls[r.Name] == diskfault.Writes:
			calls[r.Name] = diskfault.Writes
		default:
			calls[r.Name] = diskfault.Syncs
		}
		return nil
	})
	return calls
}

// needsFakeClocks says whether the scenario sets clocks of servers that are not the lab's own.
func needsFakeClocks(ctx context.Context, s scenario.Scenario, topo *topology.Topology, lock catalog.Lock) bool {
	found := false
	err := eachHit(ctx, s, topo, lock, func(_ scenario.Step, plan fault.Plan, node topology.Placed, r role.Role) error {
		found = found || !r.OwnClock && slices.Contains(plan.Clocks, node.Name)
		return nil
	})
	return found && err == nil
}

// eachHit goes through what each fault of the scenario hits of the topology, until an error.
func eachHit(ctx context.Context, s scenario.Scenario, topo *topology.Topology, lock catalog.Lock, look func(scenario.Step, fault.Plan, topology.Placed, role.Role) error) error {
	roles := Roles(nil)
	for _, step := range s.Timeline {
		plan, err := step.Fault.Plan(ctx, step.ID, inventoryOf(topo, lock), anyNode{topo: topo}) // nobody is asked
		if err != nil {
			return err
		}
		for _, name := range plan.Nodes() {
			node, _ := topo.Node(name)
			i := slices.IndexFunc(roles, func(r role.Role) bool { return r.Name == node.Role })
			if i < 0 {
				continue
			}
			if err := look(step, plan, node, roles[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// inventory is what faults can hit of a topology.
func inventory(t *topology.Topology) (inv fault.Inventory) {
	for _, h := range t.Hosts {
		inv.Hosts = append(inv.Hosts, fault.Host{Name: h.Name, Zone: h.Zone})
	}
	for _, n := range t.Nodes() {
		inv.Nodes = append(inv.Nodes, fault.Node{Name: n.Name, Role: n.Role, Host: n.Host})
	}
	for _, r := range catalog.ServerRoles() {
		if r.Primary == nil { // who only says which server that is stores nothing
			inv.Servers = append(inv.Servers, r.Name)
		}
	}
	return inv
}

// inventoryOf is that of what runs for a lock.
func inventoryOf(t *topology.Topology, lock catalog.Lock) fault.Inventory {
	inv := inventory(t)
	for _, r := range lock.Roles() {
		if !slices.Contains(lock.Disks, r) {
			inv.Diskless = append(inv.Diskless, r)
		}
	}
	return inv
}

// contents are the names by which a scenario can call what is there.
func contents(t *topology.Topology) string {
	var zones, roles []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, h := range t.Hosts {
		add(&zones, h.Zone)
	}
	for _, n := range t.Nodes() {
		add(&roles, n.Role)
	}
	return fmt.Sprintf("the zones %s and the roles %s", strings.Join(zones, ", "), strings.Join(roles, ", "))
}

// anyNode stands for the holder, the leader and the primary before there are any.
type anyNode struct {
	topo   *topology.Topology
	locked resources // the zero value has all names
}

// resources are named by a prefix and a number from 1.
type resources struct {
	prefix string
	count  int
	said   string // what says how many there are
}

// has says whether there is one of that name.
func (r resources) has(name string) bool {
	number, named := strings.CutPrefix(name, r.prefix)
	n, err := strconv.Atoi(number)
	return r.prefix == "" || name == "" || named && err == nil && n >= 1 && n <= r.count && number == strconv.Itoa(n)
}

func (r resources) String() string {
	if r.count == 1 {
		return fmt.Sprintf("%s1 (%s)", r.prefix, r.said)
	}
	return fmt.Sprintf("%s1 to %s%d (%s)", r.prefix, r.prefix, r.count, r.said)
}

var _ fault.Resolver = anyNode{}

var errNoResource = errors.New("want one of the workload's resources")

func (a anyNode) Holder(_ context.Context, resource string) (string, error) {
	if !a.locked.has(resource) {
		return "", fmt.Errorf("%w, %v", errNoResource, a.locked)
	}
	return a.first(role.Master)
}

func (a anyNode) Leader(context.Context) (string, error) {
	var lead []string
	for _, r := range catalog.ServerRoles() {
		if r.Leads != nil {
			lead = append(lead, r.Name)
		}
	}
	return a.first(lead...)
}

// Primary is of a role that others name one of, or the only server that there is.
func (a anyNode) Primary(context.Context) (string, error) {
	for _, r := range catalog.ServerRoles() {
		if nodes := a.topo.NodesOf(r.Name); r.Primary == nil && (len(nodes) == 1 || len(nodes) > 1 && a.decided()) {
			return nodes[0].Name, nil
		}
	}
	return "", fmt.Errorf("no node is a primary: %w", fault.ErrNoTarget)
}

// decided says whether there are nodes that decide which one the primary is.
func (a anyNode) decided() bool {
	return slices.ContainsFunc(catalog.ServerRoles(), func(r role.Role) bool { return r.Primary != nil && len(a.topo.NodesOf(r.Name)) > 0 })
}

func (a anyNode) first(wanted ...string) (string, error) {
	nodes := a.topo.NodesOf(wanted...)
	if len(nodes) == 0 {
		return "", fmt.Errorf("no node has the role %s: %w", strings.Join(wanted, " or "), fault.ErrNoTarget)
	}
	return nodes[0].Name, nil
}
