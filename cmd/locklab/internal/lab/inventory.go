package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// inventoryOf is what faults can hit of what runs for a lock.
func inventoryOf(t *topology.Topology, lock catalog.Lock) (inv fault.Inventory) {
	for _, h := range t.Hosts {
		inv.Hosts = append(inv.Hosts, fault.Host{Name: h.Name, Zone: h.Zone})
	}
	inv.Nodes = nodes(t.Nodes())
	for _, r := range catalog.ServerRoles() {
		if r.Primary == nil { // who only says which server that is stores nothing
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

// resources are what the workload locks, all names where it is not known.
func (c *Config) resources(s scenario.Scenario) resources {
	if c.Load == nil {
		return resources{}
	}
	return resources{c.Workload.Resource, c.Load.Resources(s.Wants)}
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

// Primary is of a role that others name one of, or the only server that there is.
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
