// Package topology describes where everything runs: zones, the hosts in each, the
// nodes on each host, and the base latency inside and between zones.
//
// A topology is YAML, either built in ([Names], such as seoul-2az) or a file ([Load]);
// chaos/README.md has a complete one. Names are lower-case letters, digits and dashes. Latencies are
// round trips, of a request and its answer; one way has half of the latency and half of the jitter.
// Errors name the file, line and field, and what would be right there.
package topology

import (
	"slices"
	"time"

	"locklab/nodes/role"
)

// Topology is a checked topology: names are unique, zones exist, there is a master.
type Topology struct {
	Name    string
	Summary string
	Zones   []Zone
	Hosts   []Host
	Latency Latency
	Without map[string]string // the reasons why it has no node of a role, by role; may be nil
}

// Zone is an availability zone.
type Zone struct {
	Name  string // ap-northeast-2a
	Short string // a
}

// Host is one machine of a zone.
type Host struct {
	Name  string
	Zone  string // the zone's short name
	Agent string // URL of its running agent; "" to start one locally
	Nodes []Node
}

// Node is one process on a host.
type Node struct {
	Name string
	Role string // see role.Role
}

// Latency is the base latency that is always on.
type Latency struct {
	Inside  RTT // between hosts of one zone
	Between RTT // between hosts of different zones
	// Pairs overrides Between for single pairs of zones.
	Pairs []Pair
}

// RTT is a round trip: its median, and its jitter around that. One way is half of each.
type RTT struct {
	RTT    time.Duration
	Jitter time.Duration
}

// Pair is the latency between two zones, in both directions.
type Pair struct {
	Zones [2]string // short names
	RTT
}

// Placed is a node with the host and zone that it is on.
type Placed struct {
	Node
	Host string
	Zone string // short name
}

// Nodes lists all nodes with their places, in order of appearance.
func (t *Topology) Nodes() (all []Placed) {
	for _, h := range t.Hosts {
		for _, n := range h.Nodes {
			all = append(all, Placed{Node: n, Host: h.Name, Zone: h.Zone})
		}
	}
	return all
}

// NodesOf lists the nodes that have one of the roles, in order of appearance.
func (t *Topology) NodesOf(roles ...string) []Placed {
	return slices.DeleteFunc(t.Nodes(), func(p Placed) bool { return !slices.Contains(roles, p.Role) })
}

// Node finds a node by name.
func (t *Topology) Node(name string) (found Placed, ok bool) {
	all := t.Nodes()
	i := slices.IndexFunc(all, func(p Placed) bool { return p.Name == name })
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// Host finds a host by name.
func (t *Topology) Host(name string) (found Host, ok bool) {
	i := slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return found, false
	}
	return t.Hosts[i], true
}

// Rank returns the position of a master among the masters, in order of appearance, from 0;
// false if there is no master of that name.
func (t *Topology) Rank(master string) (int, bool) {
	i := slices.IndexFunc(t.NodesOf(role.Master), func(p Placed) bool { return p.Name == master })
	return i, i >= 0
}

// Between returns the base round trip between two hosts: zero for a host and itself.
// Unknown hosts count as being in one zone.
func (t *Topology) Between(host, other string) RTT {
	if host == other {
		return RTT{}
	}
	a, _ := t.Host(host)
	b, _ := t.Host(other)
	return t.BetweenZones(a.Zone, b.Zone)
}

// BetweenZones returns the base round trip between two hosts in these zones, by short names.
func (t *Topology) BetweenZones(a, b string) RTT {
	if a == b {
		return t.Latency.Inside
	}
	for _, p := range t.Latency.Pairs {
		if p.Zones == [2]string{a, b} || p.Zones == [2]string{b, a} {
			return p.RTT
		}
	}
	return t.Latency.Between
}

// RoundTrip returns the longest base round trip between two hosts.
func (t *Topology) RoundTrip() (longest time.Duration) {
	for i, h := range t.Hosts {
		for _, other := range t.Hosts[i+1:] {
			longest = max(longest, t.Between(h.Name, other.Name).RTT)
		}
	}
	return longest
}

// Second returns a second, or ten round trips of the topology if that is more. Most time
// limits of a run scale with it.
func (t *Topology) Second() time.Duration { return max(time.Second, 10*t.RoundTrip()) }

// Limit scales a time limit d with [Topology.Second].
func (t *Topology) Limit(d time.Duration) time.Duration {
	return time.Duration(float64(d) * t.Second().Seconds()).Round(time.Millisecond)
}

// Subset returns the topology with only the nodes of the given roles, without empty hosts.
// Zones and latency stay as they are.
func (t *Topology) Subset(roles ...string) *Topology {
	return t.keeping(func(n Node) bool { return slices.Contains(roles, n.Role) })
}

// Reduced returns the topology with at most so many nodes of a role, taken from the zones in
// turn, without empty hosts.
func (t *Topology) Reduced(role string, nodes int) *Topology {
	all, place, ofZone := t.NodesOf(role), map[string]int{}, map[string]int{}
	for _, p := range all {
		place[p.Name] = ofZone[p.Zone] // in its zone
		ofZone[p.Zone]++
	}
	slices.SortStableFunc(all, func(a, b Placed) int { return place[a.Name] - place[b.Name] })
	kept := all[:min(nodes, len(all))]
	return t.keeping(func(n Node) bool {
		return n.Role != role || slices.ContainsFunc(kept, func(p Placed) bool { return p.Name == n.Name })
	})
}

func (t *Topology) keeping(keep func(Node) bool) *Topology {
	s := *t
	s.Hosts = nil
	for _, h := range t.Hosts {
		h.Nodes = slices.DeleteFunc(slices.Clone(h.Nodes), func(n Node) bool { return !keep(n) })
		if len(h.Nodes) > 0 {
			s.Hosts = append(s.Hosts, h)
		}
	}
	return &s
}

// HostZones maps every host to its zone's short name, as histories record it.
func (t *Topology) HostZones() map[string]string {
	m := make(map[string]string, len(t.Hosts))
	for _, h := range t.Hosts {
		m[h.Name] = h.Zone
	}
	return m
}

// NodeHosts maps every node to its host, as histories record it.
func (t *Topology) NodeHosts() map[string]string {
	m := map[string]string{}
	for _, p := range t.Nodes() {
		m[p.Name] = p.Host
	}
	return m
}
