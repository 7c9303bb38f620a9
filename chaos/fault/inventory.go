package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/workloads/history"
)

// Host is a machine of a zone.
type Host struct{ Name, Zone string }

// Node is a process that runs on a host.
type Node struct{ Name, Role, Host string }

// Inventory is what faults can hit: what runs now, not all that the topology has.
type Inventory struct {
	Hosts []Host
	Nodes []Node
}

// The selectors that stand for something else at every moment.
const (
	Holder = history.TargetHolder // the node that holds a lock now
	Leader = "leader"             // the node that leads the lock service now
	Others = "others"             // the hosts that the other side of the cut does not name
	Zones  = "zones"              // every two hosts of different zones
)

// ErrNoTarget says that there is nothing that a selector names.
var ErrNoTarget = errors.New("fault: no target")

// Resolver finds the nodes behind the dynamic selectors.
type Resolver interface {
	Holder(ctx context.Context) (node string, err error)
	Leader(ctx context.Context) (node string, err error)
}

// CheckSelector says what is wrong with a selector; which names exist is known
// only when the fault begins.
func CheckSelector(selector string, dynamic bool) error {
	kind, name, named := strings.Cut(selector, ":")
	switch {
	case named && name != "" && slices.Contains([]string{"zone", "role", "node", "host"}, kind):
		return nil
	case dynamic && (selector == Holder || selector == Leader):
		return nil
	case dynamic:
		return errors.New("want zone:NAME, role:NAME, node:NAME, host:NAME, holder or leader")
	default:
		return errors.New("want zone:NAME, role:NAME, node:NAME or host:NAME")
	}
}

// hosts are the hosts that a selector names, in the order of the inventory.
func (inv Inventory) hosts(selector string) ([]string, error) {
	kind, name, _ := strings.Cut(selector, ":")
	var found []string
	for _, h := range inv.Hosts {
		hit := kind == "host" && h.Name == name || kind == "zone" && h.Zone == name ||
			slices.ContainsFunc(inv.Nodes, func(n Node) bool {
				return n.Host == h.Name && (kind == "node" && n.Name == name || kind == "role" && n.Role == name)
			})
		if hit {
			found = append(found, h.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no host for %q: %w", selector, ErrNoTarget)
	}
	return found, nil
}

// others are the hosts that are not among the given ones.
func (inv Inventory) others(hosts []string) ([]string, error) {
	var found []string
	for _, h := range inv.Hosts {
		if !slices.Contains(hosts, h.Name) {
			found = append(found, h.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no host but %s: %w", strings.Join(hosts, ", "), ErrNoTarget)
	}
	return found, nil
}

func (inv Inventory) zone(host string) string {
	for _, h := range inv.Hosts {
		if h.Name == host {
			return h.Zone
		}
	}
	return ""
}

// nodes are the nodes that a selector names.
func (inv Inventory) nodes(ctx context.Context, selector string, resolver Resolver) ([]string, error) {
	var (
		only string
		err  error
	)
	switch selector {
	case Holder:
		only, err = resolver.Holder(ctx)
	case Leader:
		only, err = resolver.Leader(ctx)
	default:
		return inv.namedNodes(selector)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the %s: %w", selector, err)
	case only == "":
		return nil, fmt.Errorf("there is no %s now: %w", selector, ErrNoTarget)
	}
	return inv.namedNodes("node:" + only)
}

func (inv Inventory) namedNodes(selector string) ([]string, error) {
	kind, name, _ := strings.Cut(selector, ":")
	var found []string
	for _, n := range inv.Nodes {
		hit := kind == "node" && n.Name == name || kind == "role" && n.Role == name ||
			kind == "host" && n.Host == name || kind == "zone" && inv.zone(n.Host) == name
		if hit {
			found = append(found, n.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no node for %q: %w", selector, ErrNoTarget)
	}
	return found, nil
}

func (inv Inventory) role(node string) string {
	for _, n := range inv.Nodes {
		if n.Name == node {
			return n.Role
		}
	}
	return ""
}
