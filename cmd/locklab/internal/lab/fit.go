package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// outlook is a lock under a scenario: what each fault hits of what runs for the lock, planned once,
// and what follows from it.
type outlook struct {
	plans  []scenario.Planned
	expect scenario.Expectation
	unfit  error // why the scenario does not apply to the lock
	// clocks says that clocks are set of servers that are not the lab's own, and calls are those of
	// each role's nodes that must be stopped, so that their disks can get slow or full.
	clocks bool
	calls  map[string]diskfault.Calls
}

// outlook is that of the combination, as it was checked before the start.
func (c *Config) outlook(lock catalog.Lock, s scenario.Scenario) *outlook {
	if o, known := c.outlooks[c.key(lock, s)]; known {
		return o
	}
	topo := lock.Part(c.Topology)
	o := &outlook{calls: map[string]diskfault.Calls{}}
	if o.unfit = s.NotFor(lock.Spec, lock.Traits); o.unfit != nil {
		return o
	}
	if o.unfit = s.CheckLease(c.Duration, lock.Lease, lock.String()); o.unfit != nil {
		return o
	}
	if o.plans, o.unfit = s.Plan(context.Background(), inventoryOf(topo, lock), anyNode{topo: topo}); o.unfit != nil { // nobody is asked
		return o
	}
	o.expect = s.Expect(subject(topo, lock, c.Duration), o.plans)
	o.unfit = s.CheckOverlaps(c.Duration, o.plans)
	for _, p := range o.plans {
		o.unfit = cmp.Or(o.unfit, o.add(s, p, topo, lock))
	}
	return o
}

// subject is what expectations must know of a lock.
func subject(topo *topology.Topology, lock catalog.Lock, measured time.Duration) scenario.Lock {
	nodes := func(roles ...string) (all []fault.Node) {
		for _, n := range topo.NodesOf(roles...) {
			all = append(all, fault.Node{Name: n.Name, Role: n.Role, Host: n.Host})
		}
		return all
	}
	l := scenario.Lock{
		Spec: lock.Spec, Traits: lock.Traits, Waits: lock.Away >= lock.Lease, Lease: lock.Lease, Measured: measured, Clients: nodes(role.Master),
	}
	switch lock.Traits.Agree {
	case locks.AgreeUnknown, locks.AgreeNobody:
	case locks.AgreeServer:
		all := nodes(lock.Deciders()...)
		first := min(1, len(all))
		l.Deciders, l.Replicas = all[:first], all[first:]
	default:
		l.Deciders = nodes(lock.Deciders()...)
	}
	for _, server := range lock.Servers {
		if server.Primary != nil {
			l.Watchers = append(l.Watchers, nodes(server.Name)...)
		}
	}
	return l
}

// checkScenarios sees that the scenarios can be run as the user wants them.
func (c *Config) checkScenarios() error {
	c.outlooks = map[result.Key]*outlook{}
	for _, s := range c.Scenarios {
		if err := s.CheckLocks(c.knows); err != nil {
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
		for _, lock := range c.Locks {
			c.outlooks[c.key(lock, s)] = c.outlook(lock, s)
		}
		_, nowhere := s.Plan(context.Background(), inventory(c.Topology), anyNode{c.Topology, c.resources(s)}) // nobody is asked
		if err := c.misfit(s, nowhere); err != nil {
			never := func(l catalog.Lock) error { return s.NotFor(l.Spec, l.Traits) }
			if !c.Suite && len(c.Scenarios) == 1 {
				if slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return never(l) == nil }) {
					return err
				}
				return c.checkLocks(s) // it is for none of them, however long it runs
			}
			for _, lock := range c.Locks {
				c.unfit(lock, s, cmp.Or(never(lock), err))
			}
			continue
		}
		if err := s.CheckTimes(c.Duration); err != nil {
			return fmt.Errorf("--duration %v: --scenarios: %w", c.Duration, err)
		}
		if nowhere != nil {
			return fmt.Errorf("--scenarios: %w; topology %s has %s", nowhere, c.Topology.Name, contents(c.Topology))
		}
		if err := c.checkLocks(s); err != nil {
			return err
		}
	}
	return nil
}

// misfit is why a scenario fits no lock in this run; nowhere is why it has nothing to hit in the whole topology.
func (c *Config) misfit(s scenario.Scenario, nowhere error) error {
	if c.Duration < s.MinDuration {
		return fmt.Errorf("--duration %v: want at least %v for the scenario %s: what it breaks takes so long", c.Duration, s.MinDuration, s.Name)
	}
	if errors.Is(nowhere, errNoResource) {
		return fmt.Errorf("--workload %s: %w", c.Workload.Name, nowhere)
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

// checkLocks sees that every fault has something to hit among what runs for each lock. A lock for
// which a scenario has nothing is left out of it, if there is another one for which it has.
func (c *Config) checkLocks(s scenario.Scenario) error {
	some := slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool { return c.outlook(l, s).unfit == nil })
	for _, lock := range c.Locks {
		if err := c.outlook(lock, s).unfit; err != nil {
			if c.Suite || some {
				c.unfit(lock, s, err)
				continue
			}
			return fmt.Errorf("--scenarios: %s does not apply to %s: %w; with the lock %s there are %s", s.Name, lock, err, lock, contents(lock.Part(c.Topology)))
		}
	}
	return nil
}

// unfit leaves a combination out.
func (c *Config) unfit(lock catalog.Lock, s scenario.Scenario, why error) {
	c.Unfit = append(c.Unfit, result.Unfit{Lock: lock.String(), Scenario: s.Name, Workload: c.Workload.Name, Why: Said(why)})
}

// add sees that what a fault wants of nodes is something that their roles can do, and notes what
// must be started for it.
func (o *outlook) add(s scenario.Scenario, p scenario.Planned, topo *topology.Topology, lock catalog.Lock) error {
	roles := Roles(nil)
	for _, name := range p.Nodes() {
		node, _ := topo.Node(name)
		i := slices.IndexFunc(roles, func(r role.Role) bool { return r.Name == node.Role })
		if i < 0 {
			continue
		}
		if slices.Contains(p.Disks, name) {
			if p.Disk.Full {
				o.calls[node.Role] = diskfault.Writes
			} else if o.calls[node.Role] != diskfault.Writes {
				o.calls[node.Role] = diskfault.Syncs
			}
		}
		o.clocks = o.clocks || !roles[i].OwnClock && slices.Contains(p.Clocks, name)
		if err := able(s, p, node, roles[i], topo, lock); err != nil {
			return err
		}
	}
	return nil
}

// able is nil if the fault can be made at the node.
func able(s scenario.Scenario, p scenario.Planned, node topology.Placed, r role.Role, topo *topology.Topology, lock catalog.Lock) error {
	refuse := func(what, want string) error {
		return fmt.Errorf("%s:%d: fault %s: %s: %s: %w", s.File, p.Step.Line, p.Step.ID, what, want, scenario.ErrInvalid)
	}
	if p.Point != "" && !r.Points {
		return refuse(fmt.Sprintf("%s comes to no point %s", node.Name, p.Point), "want masters, where the locks' clients are")
	}
	if beyond := beyondProgram(p.Plan, node.Name); lock.Program && r.Name == role.Master && beyond != "" {
		return refuse("it would hit "+node.Name+", but not the lock program there, which has "+beyond, "want another fault, or other nodes")
	}
	host, _ := topo.Host(node.Host)
	here := host.Agent == ""
	if here && slices.Contains(p.Disks, node.Name) {
		return diskfault.Missing()
	}
	if !slices.Contains(p.Clocks, node.Name) || r.OwnClock {
		return nil
	}
	if r.Clock == nil {
		return refuse(fmt.Sprintf("the clock of %s cannot be set", node.Name), "want servers of another role than "+r.Name)
	}
	if here {
		return fakeclock.Missing()
	}
	return nil
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
