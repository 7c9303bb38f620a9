package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/internal/strictyaml"
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
	// Servers are the roles that store what a lock is made of: see AnyServer.
	Servers []string
	// Diskless are the roles that keep nothing on a disk, so that none of theirs can fail them.
	Diskless []string
}

// The selectors beside those that history has as what a fault can aim at.
const (
	// HolderOf is the node that holds the lock of the resource that is named behind it.
	HolderOf = "holder-of"
	Others   = "others" // the hosts that the other side of the cut does not name
	Zones    = "zones"  // every two hosts of different zones
	// FirstZone is zone:NAME of the first zone of the topology, for scenarios that suit any.
	FirstZone = "first-zone"
)

// The selectors of a part of a role's nodes, in the order of the topology: the first one, the
// fewest that are more than half, and all others.
const (
	One      = "one"
	Majority = "majority"
	Minority = "minority"
	// AnyServer stands for the role of the lock's servers, whichever it is.
	AnyServer = "server"
)

// namedKinds are the selectors that name something.
func namedKinds() []string { return []string{"zone", "role", "node", "host", One, Majority, Minority} }

// ErrNoTarget says that there is nothing that a selector names.
var ErrNoTarget = errors.New("fault: no target")

// Resolver finds the nodes behind the dynamic selectors. The resource is that of the hold,
// "" for any.
type Resolver interface {
	Holder(ctx context.Context, resource string) (node string, err error)
	Leader(ctx context.Context) (node string, err error)
	Primary(ctx context.Context) (node string, err error)
}

// selector says which hosts or nodes; the name is of a zone, a role, a node or a host.
type selector struct{ kind, name string }

func (s selector) String() string {
	if s.name == "" {
		return s.kind
	}
	return s.kind + ":" + s.name
}

// aim is none of a selector that always means the same nodes.
func (s selector) aim() (aim history.Aim) {
	switch s.kind {
	case history.AimHolder, HolderOf:
		aim.At, aim.Resource = history.AimHolder, s.name
	case history.AimLeader, history.AimPrimary:
		aim.At = s.kind
	}
	return aim
}

// dynamicKinds are the selectors of one node that is another one at every moment.
func dynamicKinds() []string {
	return []string{history.AimHolder, HolderOf, history.AimLeader, history.AimPrimary}
}

// takesName says whether a name belongs to the kind of selector.
func takesName(kind string) bool { return kind == HolderOf || slices.Contains(namedKinds(), kind) }

// readSelector reads one of the kinds. Some write zone: a for zone:a, which is a mapping
// within brackets; both mean the selector. Which names exist is known only when the fault
// begins. firstZone is the name that FirstZone stands for.
func readSelector(n strictyaml.Node, kinds []string, firstZone string) selector {
	var text string
	if names := n.Names(); len(names) == 1 {
		text = names[0] + ":" + n.Get(names[0]).Text()
	} else if !n.IsMapping() {
		text = n.Text()
	}
	kind, name, named := strings.Cut(text, ":")
	if !slices.Contains(kinds, kind) || named != takesName(kind) || named && name == "" {
		n.Fail("%q: want %s", text, selectors(kinds))
	}
	if kind == FirstZone && firstZone != "" {
		return selector{"zone", firstZone}
	}
	return selector{kind, name}
}

// selectors are those of the kinds, as one writes them.
func selectors(kinds []string) string {
	var all []string
	for _, k := range kinds {
		switch {
		case k == HolderOf:
			k += ":RESOURCE"
		case takesName(k):
			k += ":NAME"
		}
		all = append(all, k)
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " or " + all[last]
	}
	return all[0]
}

// scene is what plans are made from.
type scene struct {
	Inventory
	resolver Resolver
	aim      *history.Aim // of the fault; the node is put into it once it is found
}

// hosts are the hosts that a selector names, in the order of the inventory.
func (inv Inventory) hosts(s selector) ([]string, error) {
	var found []string
	nodes := inv.named(s)
	for _, h := range inv.Hosts {
		if s.kind == "host" && h.Name == s.name || s.kind == "zone" && h.Zone == s.name || // which may have no node
			slices.ContainsFunc(nodes, func(n Node) bool { return n.Host == h.Name }) {
			found = append(found, h.Name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no host for %q: %w", s, ErrNoTarget)
	}
	return found, nil
}

// named are the nodes that a selector names, in the order of the inventory.
func (inv Inventory) named(s selector) []Node {
	nodes := slices.DeleteFunc(slices.Clone(inv.Nodes), func(n Node) bool {
		switch s.kind {
		case "zone":
			return inv.zone(n.Host) != s.name
		case "host":
			return n.Host != s.name
		case "node":
			return n.Name != s.name
		default:
			return n.Role != s.name && (s.name != AnyServer || !slices.Contains(inv.Servers, n.Role))
		}
	})
	majority := min(len(nodes)/2+1, len(nodes))
	switch s.kind {
	case One:
		return nodes[:min(1, len(nodes))]
	case Majority:
		return nodes[:majority]
	case Minority:
		return nodes[majority:]
	default:
		return nodes
	}
}

// others are the hosts that are not among the given ones.
func (inv Inventory) others(hosts []string) (found []string) {
	for _, h := range inv.Hosts {
		if !slices.Contains(hosts, h.Name) {
			found = append(found, h.Name)
		}
	}
	return found
}

func (inv Inventory) zone(host string) string {
	if i := slices.IndexFunc(inv.Hosts, func(h Host) bool { return h.Name == host }); i >= 0 {
		return inv.Hosts[i].Zone
	}
	return ""
}

// resolve names the node that a dynamic selector means now.
func (sc scene) resolve(ctx context.Context, s selector) (selector, error) {
	var only string
	var err error
	aim := s.aim()
	switch aim.At {
	case history.AimHolder:
		only, err = sc.resolver.Holder(ctx, s.name)
	case history.AimLeader:
		only, err = sc.resolver.Leader(ctx)
	case history.AimPrimary:
		only, err = sc.resolver.Primary(ctx)
	default:
		return s, nil
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("find the %s: %w", s, err)
	case only == "":
		return s, fmt.Errorf("there is no %s now: %w", s, ErrNoTarget)
	}
	if aim.At == sc.aim.At && aim.Resource == sc.aim.Resource {
		sc.aim.Node = only
	}
	return selector{"node", only}, nil
}

// nodes are the nodes that a selector names.
func (sc scene) nodes(ctx context.Context, s selector) ([]string, error) {
	s, err := sc.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, n := range sc.named(s) {
		found = append(found, n.Name)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no node for %q: %w", s, ErrNoTarget)
	}
	return found, nil
}

// onDisk are those of the nodes that keep something on a disk.
func (inv Inventory) onDisk(nodes []string) []string {
	diskless := inv.ofRoles(nodes, inv.Diskless)
	return slices.DeleteFunc(slices.Clone(nodes), func(node string) bool { return slices.Contains(diskless, node) })
}

// ofRoles are those of the nodes that have one of the roles.
func (inv Inventory) ofRoles(nodes, roles []string) (found []string) {
	for _, n := range inv.Nodes {
		if slices.Contains(nodes, n.Name) && slices.Contains(roles, n.Role) {
			found = append(found, n.Name)
		}
	}
	return found
}
