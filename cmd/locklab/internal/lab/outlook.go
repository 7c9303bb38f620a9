package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"locklab/workloads/result"
)

// outlook is a lock under a scenario: what follows from what each fault hits of what runs for the lock.
type outlook struct {
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
	if c.Duration < s.MinDuration {
		const text = "--duration %v: want at least %v for the scenario %s: what it breaks takes so long"
		o.unfit = otherRunError{fmt.Errorf(text, c.Duration, s.MinDuration, s.Name)}
		return o
	}
	if o.unfit = s.CheckLease(c.Duration, lock.Lease, lock.String()); o.unfit != nil {
		return o
	}
	resolver := anyNode{topo, c.resources(s)} // it asks no node
	plans, err := s.Plan(context.Background(), inventoryOf(topo, lock), resolver)
	if o.unfit = err; err != nil {
		return o
	}
	o.expect = s.Expect(subject(topo, lock, c.Duration), plans)
	for _, p := range plans {
		o.unfit = cmp.Or(o.unfit, o.add(s, p, topo, lock))
	}
	return o
}

// Expected is the expectation for a lock under a scenario in a topology, with its rules; unfit is why the
// scenario does not apply.
func Expected(nameOrPath, place string, lock catalog.Lock) (e scenario.Expectation, unfit, err error) {
	c := Config{Duration: DefaultDuration}
	if err := c.UseTopology(place, ""); err != nil {
		return e, nil, err
	}
	s, err := scenario.Load(nameOrPath, c.Topology.Zones[0].Short)
	if err != nil {
		return e, nil, err
	}
	c.Duration = max(c.Duration, s.MinDuration)
	o := c.outlook(lock, s)
	if o.expect.SafetyBy.Safety == "" { // else only this machine or this duration does not fit
		return e, o.unfit, nil
	}
	return o.expect, nil, nil
}

// otherRunError is why a scenario fits no lock in this run, although it would with other flags.
type otherRunError struct{ error }

// checkScenarios sees that the scenarios can be run as the user wants them. A lock to which one does not
// apply is left out of it, if it applies to another lock.
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
				c.Unfit = append(c.Unfit, result.Unfit{
					Key: result.Key{Lock: lock.String(), Scenario: s.Name, Workload: c.Workload.Name}, Why: Said(err),
				})
			default:
				return fmt.Errorf("--scenarios: %s does not apply to %s on the topology %s: %w", s.Name, lock, c.Topology.Name, err)
			}
		}
	}
	return nil
}

// checkScenario refuses a scenario that no run with any lock could have.
func (c *Config) checkScenario(s scenario.Scenario) error {
	if err := cmp.Or(s.CheckLocks(c.knows), s.CheckData(checkData)); err != nil {
		return err
	}
	for _, run := range s.External() {
		if err := c.External.Check(run); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if err := s.CheckTimes(c.Duration); err != nil && c.Duration >= s.MinDuration {
		return fmt.Errorf("--duration %v: %w", c.Duration, err)
	}
	return nil
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
	r, known := roleOf(name)
	switch {
	case !known:
		return fmt.Errorf("%q is not a role: want one of %s", name, strings.Join(RoleNames(), ", "))
	case r.KeepsData != "":
		return fmt.Errorf("%s: want another role, or none", r.KeepsData)
	}
	return nil
}

func roleOf(name string) (r role.Role, known bool) {
	all := Roles(nil)
	if i := slices.IndexFunc(all, func(r role.Role) bool { return r.Name == name }); i >= 0 {
		return all[i], true
	}
	return r, false
}

// add sees that what a fault wants of nodes is something that their roles can do, and notes what
// must be started for it.
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

// able is nil if the fault can be made at the node of the role, where a program of the user's may hold the lock's
// client, and which may be here.
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
		return diskfault.Missing()
	case !clock || r.OwnClock:
		return nil
	case !r.FakeClock:
		wrong = fmt.Sprintf("the clock of %s cannot be set: want servers of another role than %s", node, r.Name)
	case here:
		return fakeclock.Missing()
	default:
		return nil
	}
	return fmt.Errorf("%s:%d: fault %s: %s: %w", s.File, p.Step.Line, p.Step.ID, wrong, scenario.ErrInvalid)
}

// beyondProgram is what a lock program has of its own or of the machine, although the plan breaks
// its master's; "" if the plan reaches the program, too. (libfaketime moves no clock of a program
// that is not linked to libc, such as one in Go; and where it does, its version 0.9.10, which
// Debian 12 has, fails each sleep of Python.)
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
	l := scenario.Lock{
		Spec: lock.Spec, Traits: lock.Traits, Waits: lock.Away >= lock.Lease, Lease: lock.Lease, Measured: measured,
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
