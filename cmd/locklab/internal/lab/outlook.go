package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
)

// outlook is what follows for a lock under a scenario from the nodes that each fault hits.
type outlook struct {
	expect scenario.Expectation
	unfit  error // why the scenario does not apply to the lock
	// clocks says that a fault sets clocks of foreign servers; calls are those to stop for slow or full disks, by role.
	clocks bool
	calls  map[string]diskfault.Calls
}

// newOutlook plans a scenario for a lock, on what it needs of a topology, in a run that measures for so long.
func newOutlook(
	topo *topology.Topology, lock catalog.Lock, s scenario.Scenario, d time.Duration, locked resources,
) *outlook {
	o := &outlook{calls: map[string]diskfault.Calls{}}
	if o.unfit = s.NotFor(lock.Spec, lock.Traits); o.unfit != nil {
		return o
	}
	if d < s.MinDuration {
		const text = "--duration %v: want at least %v for the scenario %s: what it breaks takes so long"
		o.unfit = otherRunError{fmt.Errorf(text, d, s.MinDuration, s.Name)}
		return o
	}
	if o.unfit = s.CheckLease(d, lock.Lease, lock.String()); o.unfit != nil {
		return o
	}
	plans, err := s.Plan(context.Background(), inventoryOf(topo, lock), anyNode{topo, locked}) // it asks no node
	if o.unfit = err; err != nil {
		return o
	}
	o.expect = s.Expect(subject(topo, lock, d), plans)
	for _, p := range plans {
		o.unfit = cmp.Or(o.unfit, o.add(s, p, topo, lock))
	}
	return o
}

// otherRunError is why a scenario fits no lock in this run, although it would with other flags.
type otherRunError struct{ error }

// checkData refuses roles that cannot lose their data.
func checkData(name string) error {
	r, known := roleOf(name)
	switch {
	case !known:
		return fmt.Errorf("%q is not a role: want one of %s", name, strings.Join(catalog.RoleNames(), ", "))
	case r.KeepsData != "":
		return fmt.Errorf("%s: want another role, or none", r.KeepsData)
	}
	return nil
}

func roleOf(name string) (r role.Role, known bool) {
	all := catalog.Roles(nil)
	if i := slices.IndexFunc(all, func(r role.Role) bool { return r.Name == name }); i >= 0 {
		return all[i], true
	}
	return r, false
}

// add refuses faults that the roles of their nodes cannot have, and notes what the others need.
func (o *outlook) add(s scenario.Scenario, p scenario.Planned, topo *topology.Topology, lock catalog.Lock) error {
	for _, name := range p.Nodes() {
		node, _ := topo.Node(name)
		r, _ := roleOf(node.Role)
		o.calls[node.Role] = o.calls[node.Role].More(callsFor(p.Plan, name))
		o.clocks = o.clocks || !r.OwnClock && slices.Contains(p.Clocks, name)
		host, _ := topo.Host(node.Host)
		if err := able(s, p, name, r, lock.Program && r.Name == role.Master, host.Agent == ""); err != nil {
			return err
		}
	}
	return nil
}

// callsFor are the calls of a node that must be stopped for a plan.
func callsFor(p fault.Plan, node string) diskfault.Calls {
	switch {
	case slices.Contains(p.Cut, node):
		return diskfault.Power
	case !slices.Contains(p.Disks, node):
		return ""
	case p.Disk.Full:
		return diskfault.Writes
	default:
		return diskfault.Syncs
	}
}

// notHereError is why a fault cannot be done to the node that it would hit.
type notHereError struct{ error }

func (e notHereError) Unwrap() error { return e.error }

func notHere(err error) error {
	if err == nil {
		return nil
	}
	return notHereError{err}
}

// able refuses a fault that the node cannot have. It may run the user's program, and may be on this machine.
func able(s scenario.Scenario, p scenario.Planned, node string, r role.Role, program, here bool) error {
	clock, disk := slices.Contains(p.Clocks, node), callsFor(p.Plan, node) != ""
	var wrong string
	switch beyond := beyondProgram(p.Plan, node); {
	case p.Point != "" && !r.Points:
		wrong = fmt.Sprintf("%s comes to no point %s: want masters, where the locks' clients are", node, p.Point)
	case program && beyond != "":
		const text = "it would hit %s, but not the lock program there, which has %s: want another fault, or other nodes"
		wrong = fmt.Sprintf(text, node, beyond)
	case here && disk:
		return notHere(diskfault.Missing())
	case !clock || r.OwnClock:
		return nil
	case !r.FakeClock:
		wrong = fmt.Sprintf("the clock of %s cannot be set: want servers of another role than %s", node, r.Name)
	case here:
		return notHere(fakeclock.Missing())
	default:
		return nil
	}
	return notHere(fmt.Errorf("%s:%d: fault %s: %s: %w", s.File, p.Step.Line, p.Step.ID, wrong, scenario.ErrInvalid))
}

// beyondProgram is what the plan breaks of a master but not of its lock program; "" if it reaches that, too.
// libfaketime moves no clock of a program without libc, such as one in Go; its version in Debian 12, 0.9.10, fails each
// sleep of Python.
func beyondProgram(plan fault.Plan, node string) string {
	switch {
	case slices.Contains(plan.Clocks, node):
		return "the machine's clock"
	case slices.Contains(plan.Wipe, node), slices.Contains(plan.Cut, node),
		slices.Contains(plan.Disks, node) && plan.Disk.Full:
		return "its files elsewhere"
	}
	return ""
}

// subject is what expectations must know of a lock.
func subject(topo *topology.Topology, lock catalog.Lock, measured time.Duration) scenario.Lock {
	lease := lock.Lease
	if lock.Traits.Lease == locks.LeaseRelease {
		lease = math.MaxInt64 // it outlasts every fault
	}
	l := scenario.Lock{
		Spec: lock.Spec, Traits: lock.Traits, Waits: lock.Away >= lease, Lease: lease, Measured: measured,
		Clients: nodes(topo.NodesOf(role.Master)),
	}
	switch deciders := nodes(topo.NodesOf(lock.Deciders()...)); lock.Traits.Agree {
	case locks.AgreeUnknown, locks.AgreeNobody:
	case locks.AgreeServer:
		first := min(1, len(deciders))
		l.Deciders, l.Replicas = deciders[:first], deciders[first:]
	default:
		l.Deciders = deciders
	}
	for _, server := range lock.Servers {
		if server.Primary != nil {
			l.Watchers = append(l.Watchers, nodes(topo.NodesOf(server.Name))...)
		}
	}
	return l
}

func nodes(placed []topology.Placed) (all []fault.Node) {
	for _, n := range placed {
		all = append(all, fault.Node{Name: n.Name, Role: n.Role, Host: n.Host})
	}
	return all
}

// inventoryOf is what faults can hit of what runs for a lock.
func inventoryOf(t *topology.Topology, lock catalog.Lock) (inv fault.Inventory) {
	for _, h := range t.Hosts {
		inv.Hosts = append(inv.Hosts, fault.Host{Name: h.Name, Zone: h.Zone})
	}
	inv.Nodes = nodes(t.Nodes())
	for _, r := range catalog.ServerRoles() {
		if r.Primary == nil { // one that only names the primary stores nothing
			inv.Servers = append(inv.Servers, r.Name)
		}
	}
	for _, r := range lock.Roles() {
		if !lock.OnDisk || !slices.Contains(lock.Deciders(), r) {
			inv.Diskless = append(inv.Diskless, r)
		}
	}
	return inv
}

// anyNode stands for the holder, the leader and the primary before there are any.
type anyNode struct {
	topo   *topology.Topology
	locked resources
}

// resources are named by a prefix and a number from 1.
type resources struct {
	prefix string
	count  int
}

// check refuses a name that none of them has.
func (r resources) check(name string) error {
	if r.prefix == "" || name == "" {
		return nil
	}
	for n := range r.count {
		if name == fmt.Sprint(r.prefix, n+1) {
			return nil
		}
	}
	const text = "want one of the workload's resources, %[1]s1 to %[1]s%[2]d"
	return otherRunError{fmt.Errorf(text, r.prefix, r.count)}
}

var _ fault.Resolver = anyNode{}

func (a anyNode) Holder(_ context.Context, resource string) (string, error) {
	if err := a.locked.check(resource); err != nil {
		return "", err
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

// Primary is a server of a role whose primary other nodes name, or the only server.
func (a anyNode) Primary(context.Context) (string, error) {
	var servers []topology.Placed
	decided := false // there are nodes that decide which one the primary is
	for _, r := range catalog.ServerRoles() {
		if found := a.topo.NodesOf(r.Name); r.Primary == nil {
			servers = append(servers, found...)
		} else {
			decided = decided || len(found) > 0
		}
	}
	if len(servers) == 1 || decided && len(servers) > 0 {
		return servers[0].Name, nil
	}
	return "", fmt.Errorf("no node is a primary: %w", fault.ErrNoTarget)
}

func (a anyNode) first(wanted ...string) (string, error) {
	nodes := a.topo.NodesOf(wanted...)
	if len(nodes) == 0 {
		return "", fmt.Errorf("no node has the role %s: %w", strings.Join(wanted, " or "), fault.ErrNoTarget)
	}
	return nodes[0].Name, nil
}
