package topology

import (
	"net/url"
	"slices"

	"locklab/nodes/role"
)

const masterRole = role.Master

// check turns what was written into a topology, or says what is wrong with it
// first in the order of the file.
func (d *document) check(src source) (*Topology, error) {
	t := &Topology{Name: d.Name, Summary: d.Summary}
	if err := src.name("name", d.Name, map[string]bool{}, "topology"); err != nil {
		return nil, err
	}
	for _, part := range []func(source, *Topology) error{d.checkZones, d.checkHosts, d.checkLatency} {
		if err := part(src, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (d *document) checkZones(src source, t *Topology) error {
	if len(d.Zones) == 0 {
		return src.errorf("zones", "missing: want at least one, such as {name: ap-northeast-2a, short: a}")
	}
	seen := map[string]bool{}
	for i, z := range d.Zones {
		at := index("zones", i)
		if err := src.name(at+".name", z.Name, seen, "zone"); err != nil {
			return err
		}
		if z.Short == z.Name { // short enough as it is
			delete(seen, z.Name)
		}
		if err := src.name(at+".short", z.Short, seen, "zone"); err != nil {
			return err
		}
		t.Zones = append(t.Zones, Zone(z))
	}
	return nil
}

func (d *document) checkHosts(src source, t *Topology) error {
	if len(d.Hosts) == 0 {
		return src.errorf("hosts", "missing: want at least one host with a master")
	}
	hosts, nodes, agents := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, h := range d.Hosts {
		at := index("hosts", i)
		if err := src.name(at+".name", h.Name, hosts, "host"); err != nil {
			return err
		}
		if !slices.ContainsFunc(t.Zones, func(z Zone) bool { return z.Short == h.Zone }) {
			return src.errorf(at+".zone", "%q is not the short name of a zone: want one of %s", h.Zone, oneOf(shorts(t.Zones)))
		}
		if err := checkAgent(src, at+".agent", h.Agent, agents); err != nil {
			return err
		}
		host := Host{Name: h.Name, Zone: h.Zone, Agent: h.Agent}
		if len(h.Nodes) == 0 {
			return src.errorf(at+".nodes", "missing: want at least one, such as {name: %s, role: worker}", h.Name)
		}
		for j, n := range h.Nodes {
			at := index(at+".nodes", j)
			if err := src.name(at+".name", n.Name, nodes, "node"); err != nil {
				return err
			}
			if !slices.Contains(role.Names(), n.Role) {
				return src.errorf(at+".role", "%q is not a role: want one of %s", n.Role, oneOf(role.Names()))
			}
			host.Nodes = append(host.Nodes, Node(n))
		}
		t.Hosts = append(t.Hosts, host)
	}
	if len(t.NodesOf(masterRole)) == 0 {
		return src.errorf("hosts", "no node has the role %s: want at least one, as masters hold the lock clients", masterRole)
	}
	return nil
}

// checkAgent refuses what cannot be called, and one agent for two hosts: links
// and faults belong to a host, so two hosts behind one agent would share them.
func checkAgent(src source, field, agent string, seen map[string]bool) error {
	if agent == "" {
		return nil
	}
	host, ok := agentHost(agent)
	if !ok {
		return src.errorf(field, "%q is not the address of an agent: want http://HOST:PORT", agent)
	}
	if seen[host] {
		return src.errorf(field, "%q is the agent of another host too: want one agent for each host", agent)
	}
	seen[host] = true
	return nil
}

// agentHost is the HOST:PORT of an agent's URL, if it is one.
func agentHost(agent string) (host string, ok bool) {
	u, err := url.Parse(agent)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
		(u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return u.Host, true
}

func (d *document) checkLatency(src source, t *Topology) error {
	const want = "missing: want {rtt: 0.2ms, jitter: 0.04ms} or what your zones have"
	if d.Latency == nil {
		return src.errorf("latency", "missing: want inside and between, each as {rtt: 1ms, jitter: 0.1ms}")
	}
	if d.Latency.Inside == nil {
		return src.errorf("latency.inside", want)
	}
	var err error
	if t.Latency.Inside, err = src.rtt("latency.inside", d.Latency.Inside.RTT, d.Latency.Inside.Jitter); err != nil {
		return err
	}
	if d.Latency.Between != nil {
		if t.Latency.Between, err = src.rtt("latency.between", d.Latency.Between.RTT, d.Latency.Between.Jitter); err != nil {
			return err
		}
	} else if len(t.Zones) > 1 {
		return src.errorf("latency.between", want)
	}
	for i, p := range d.Latency.Pairs {
		if err := checkPair(src, index("latency.pairs", i), p, t); err != nil {
			return err
		}
	}
	return nil
}

func checkPair(src source, at string, p pairEntry, t *Topology) error {
	known := shorts(t.Zones)
	if len(p.Zones) != 2 || p.Zones[0] == p.Zones[1] || !slices.Contains(known, p.Zones[0]) || !slices.Contains(known, p.Zones[1]) {
		return src.errorf(at+".zones", "%q is not a pair: want two different zones out of %s", p.Zones, oneOf(known))
	}
	zones := [2]string{p.Zones[0], p.Zones[1]}
	for _, other := range t.Latency.Pairs {
		if other.Zones == zones || other.Zones == [2]string{zones[1], zones[0]} {
			return src.errorf(at+".zones", "the pair %s and %s appears twice: one entry holds for both directions", zones[0], zones[1])
		}
	}
	rtt, err := src.rtt(at, p.RTT, p.Jitter)
	if err != nil {
		return err
	}
	t.Latency.Pairs = append(t.Latency.Pairs, Pair{Zones: zones, RTT: rtt})
	return nil
}

func shorts(zones []Zone) []string {
	var all []string
	for _, z := range zones {
		all = append(all, z.Short)
	}
	return all
}
