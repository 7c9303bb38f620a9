package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos/link"
	"locklab/internal/damage"
	"locklab/internal/strictyaml"
	"locklab/workloads/history"
)

// Pair is the traffic from one host to another.
type Pair struct{ From, To string }

// Plan is what to do to begin a fault, and how to prove it.
type Plan struct {
	// Links are the impairments to apply, by the host whose links they hit.
	Links map[string][]link.Impairment
	// Pairs are the ordered pairs of hosts whose traffic is hit.
	Pairs []Pair
	// From and To are the hosts of Pairs as two lists, as in histories.
	From, To []string
	Aim      history.Aim // with the node that it found
	Proof    Proof       // nil: no link is hit

	Kill  []string // nodes
	Pause []string
	// Point is where in their work these nodes pause; "" is anywhere.
	Point string
	// Wipe are the killed nodes that come back without their data.
	Wipe []string

	// Cut are the killed nodes whose disks lose what was not synced, as Power says.
	Cut   []string
	Power damage.Power

	// Clocks are the nodes whose wall clock is set wrong by Step and then runs at Rate; a Rate of 0 keeps the
	// right one.
	Clocks []string
	Step   time.Duration
	Rate   float64

	// Disks are the nodes whose disk is set to Disk.
	Disks []string
	Disk  damage.Disk

	// External are the words of an external fault.
	External []string
	// Gone are the hosts that it stops, and Lost the nodes that go with them.
	Gone, Lost []string
}

// Nodes are the nodes that the plan hits.
func (p Plan) Nodes() []string { return slices.Concat(p.Kill, p.Pause, p.Clocks, p.Disks, p.Lost) }

// Restarted are the nodes to start again when the fault is over. A node with a full disk is among them: it
// may exit seconds later, or has exited, and must recover from its disk.
func (p Plan) Restarted() []string {
	if p.Disk.Full {
		return slices.Concat(p.Kill, p.Disks)
	}
	return p.Kill
}

// planner plans the fault that a kind has read.
type planner func(ctx context.Context, id string, sc scene) (Plan, error)

// onLinks is a fault of the traffic between two sides.
func onLinks(s sides, effect link.Effect, proof Proof) Fault {
	return Fault{
		Target: s.String(), Aim: s.aim(),
		plan: func(ctx context.Context, id string, sc scene) (_ Plan, err error) {
			now := s
			if now.from, err = sc.resolve(ctx, s.from); err != nil {
				return Plan{}, err
			}
			if now.to, err = sc.resolve(ctx, s.to); err != nil {
				return Plan{}, err
			}
			p, err := sc.pairs(now)
			p.Links, p.Proof = impairments(id, effect, p.Pairs), proof
			return p, err
		},
	}
}

// onNodes is a fault of the target's nodes: hit plans what happens to them.
func onNodes(target selector, hit func(sc scene, found []string) (Plan, error)) Fault {
	return Fault{
		Target: target.String(), Aim: target.aim(),
		plan: func(ctx context.Context, _ string, sc scene) (Plan, error) {
			found, err := sc.nodes(ctx, target)
			if err != nil {
				return Plan{}, err
			}
			return hit(sc, found)
		},
	}
}

// pairs plans the ordered host pairs between the two sides.
func (sc scene) pairs(s sides) (p Plan, err error) {
	if s.from.kind == Zones {
		for _, h := range sc.Hosts {
			p.From = append(p.From, h.Name)
		}
		p.To = p.From
	} else if p.From, err = sc.side(s.from, s.to); err == nil {
		p.To, err = sc.side(s.to, s.from)
	}
	if err != nil {
		return Plan{}, err
	}
	add := func(pair Pair) {
		if pair.From != pair.To && !slices.Contains(p.Pairs, pair) &&
			(s.from.kind != Zones || sc.zone(pair.From) != sc.zone(pair.To)) {
			p.Pairs = append(p.Pairs, pair)
		}
	}
	for _, x := range p.From {
		for _, y := range p.To {
			add(Pair{x, y})
			if s.both {
				add(Pair{y, x})
			}
		}
	}
	if len(p.Pairs) == 0 {
		return Plan{}, fmt.Errorf("nothing is between the two sides, as there is no other host: %w", ErrNoTarget)
	}
	return p, nil
}

// impairments puts the effect on the links that carry the pairs' traffic, by dialing host.
func impairments(id string, effect link.Effect, pairs []Pair) map[string][]link.Impairment {
	ways := map[Pair][]link.Direction{} // dialing host, host of the node
	for _, p := range pairs {
		back := Pair{p.To, p.From}
		ways[p], ways[back] = append(ways[p], link.Up), append(ways[back], link.Down)
	}
	byHost := map[string][]link.Impairment{}
	for p, w := range ways {
		direction := w[0]
		if _, reset := effect.(*link.Reset); reset || len(w) == 2 { // a reset has no direction
			direction = link.Both
		}
		list := byHost[p.From]
		n := slices.IndexFunc(list, func(j link.Impairment) bool { return j.Direction == direction })
		if n < 0 {
			n = len(list)
			list = append(list, link.Impairment{ID: id + "/" + string(direction), Direction: direction, Effect: effect})
		}
		list[n].ToHosts = append(list[n].ToHosts, p.To)
		slices.Sort(list[n].ToHosts)
		byHost[p.From] = list
	}
	return byHost
}

// Host is a machine of a zone.
type Host struct{ Name, Zone string }

// Node is a process that runs on a host.
type Node struct{ Name, Role, Host string }

// Inventory is what faults can hit: the hosts and nodes that run now, not all of the topology.
type Inventory struct {
	Hosts []Host
	Nodes []Node
	// Servers are the roles of the lock's servers: see AnyServer.
	Servers []string
	// Diskless are the roles that keep nothing on disk: faults of disks do not hit them.
	Diskless []string
}

// The selectors beside history's AimHolder, AimLeader and AimPrimary.
const (
	// HolderOf is the node that holds the lock of the resource that is named behind it.
	HolderOf = "holder-of"
	Others   = "others" // the hosts that the other side does not name
	Zones    = "zones"  // every two hosts of different zones
	// FirstZone is zone:NAME of the topology's first zone, for scenarios that suit any topology.
	FirstZone = "first-zone"
)

// The selectors of a part of a role's nodes, in the order of the topology: the first, the smallest majority,
// and the rest.
const (
	One      = "one"
	Majority = "majority"
	Minority = "minority"
	// AnyServer stands for the role of the lock's servers, whichever it is.
	AnyServer = "server"
)

// namedKinds are the selectors that name something.
func namedKinds() []string { return []string{"zone", "role", "node", "host", One, Majority, Minority} }

// ErrNoTarget says that a selector matches nothing.
var ErrNoTarget = errors.New("fault: no target")

// ErrInvalid is wrapped by errors about a fault that is not written as it has to be.
var ErrInvalid = errors.New("fault: invalid")

// Resolver finds the nodes behind the dynamic selectors. The resource is that of the hold,
// "" for any.
type Resolver interface {
	Holder(ctx context.Context, resource string) (node string, err error)
	Leader(ctx context.Context) (node string, err error)
	Primary(ctx context.Context) (node string, err error)
}

// selector selects hosts or nodes; name is that of a zone, role, node, host or resource.
type selector struct{ kind, name string }

func (s selector) String() string {
	if s.name == "" {
		return s.kind
	}
	return s.kind + ":" + s.name
}

// aim is empty for a selector that always means the same nodes.
func (s selector) aim() (aim history.Aim) {
	switch s.kind {
	case history.AimHolder, HolderOf:
		aim.At, aim.Resource = history.AimHolder, s.name
	case history.AimLeader, history.AimPrimary:
		aim.At = s.kind
	}
	return aim
}

// dynamicKinds are the selectors whose node changes during a run.
func dynamicKinds() []string {
	return []string{history.AimHolder, HolderOf, history.AimLeader, history.AimPrimary}
}

// takesName says whether selectors of this kind have a name.
func takesName(kind string) bool { return kind == HolderOf || slices.Contains(namedKinds(), kind) }

// readSelector reads a selector of one of the kinds. A user may write zone: a within brackets, a mapping, for
// zone:a. Whether the name exists is known only when the fault begins. firstZone replaces FirstZone.
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

// selectors lists the kinds as a user writes them.
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
	aim      *history.Aim // of the fault; resolve sets its node
}

// hosts are the hosts that a selector names, in the order of the inventory.
func (inv Inventory) hosts(s selector) ([]string, error) {
	var found []string
	nodes := inv.named(s)
	for _, h := range inv.Hosts {
		if s.kind == "host" && h.Name == s.name || s.kind == "zone" && h.Zone == s.name || // a zone may have no node
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

// side are the hosts of one side; Others may be none.
func (inv Inventory) side(one, other selector) (found []string, err error) {
	if one.kind != Others {
		return inv.hosts(one)
	}
	beside, err := inv.hosts(other)
	for _, h := range inv.Hosts {
		if !slices.Contains(beside, h.Name) {
			found = append(found, h.Name)
		}
	}
	return found, err
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

// nodes returns the names of the nodes that a selector means now.
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
