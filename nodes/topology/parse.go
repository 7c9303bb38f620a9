package topology

import (
	"embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"locklab/internal/strictyaml"
	"locklab/nodes/role"
)

// ErrInvalid is wrapped by every error about an invalid topology.
var ErrInvalid = errors.New("topology: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

func files() strictyaml.Files {
	return strictyaml.Files{What: "topology", Builtin: builtin, Invalid: ErrInvalid}
}

// Names lists the names of the built-in topologies, sorted.
func Names() []string { return files().Names() }

// Load reads and checks a topology: a built-in one by its name, or a file by its path. Its
// nodes must have one of the roles; if none is given, any role. Errors wrap [ErrInvalid] and
// name the file, the line and the field.
func Load(nameOrPath string, roles ...string) (*Topology, error) {
	file, text, err := files().Read(nameOrPath)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, roles...)
}

// Parse checks the YAML text of a topology as [Load] does; errors name it file.
func Parse(file string, data []byte, roles ...string) (*Topology, error) {
	doc, err := strictyaml.Parse(file, data, ErrInvalid)
	if err != nil {
		return nil, err
	}
	f := doc.Root.Fields("name", "summary", "zones", "latency", "without", "hosts")
	t := &Topology{Name: f.Get("name").Name(maxName), Summary: f.Get("summary").Text()}
	t.readZones(f.Get("zones"))
	t.readLatency(f.Get("latency"))
	t.readWithout(f.Get("without"), roles)
	t.readHosts(f.Get("hosts"), roles)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

const (
	// maxName is the longest name in DNS.
	maxName = 63
	// longest is the greatest base latency.
	longest = 10 * time.Second
)

// names are the names of one kind so far; each must be unique.
type names map[string]bool

func (all names) read(n strictyaml.Node, what string) string {
	name := n.Name(maxName)
	if all[name] {
		n.Fail("%s %q appears twice: want a name of its own for each", what, name)
	}
	all[name] = true
	return name
}

func (t *Topology) readZones(n strictyaml.Node) {
	taken := names{}
	for _, z := range n.Some("at least one, such as {name: ap-northeast-2a, short: a}") {
		f := z.Fields("name", "short")
		name := taken.read(f.Get("name"), "zone")
		if f.Get("short").Text() == name { // both may be the same
			delete(taken, name)
		}
		t.Zones = append(t.Zones, Zone{name, taken.read(f.Get("short"), "zone")})
	}
}

func (t *Topology) readWithout(n strictyaml.Node, roles []string) {
	f := n.Fields()
	for _, name := range f.Names() {
		why := f.Get(name)
		if len(roles) > 0 && !slices.Contains(roles, name) {
			why.Fail("%q is not a role: want one of %s", name, strings.Join(roles, ", "))
		}
		if t.Without == nil {
			t.Without = map[string]string{}
		}
		t.Without[name] = why.Need("why there is none").Text()
	}
}

func (t *Topology) readHosts(n strictyaml.Node, roles []string) {
	hosts, nodes, agents := names{}, names{}, map[string]bool{}
	for _, h := range n.Some("at least one host with a master") {
		f := h.Fields("name", "zone", "agent", "nodes")
		host := Host{
			Name: hosts.read(f.Get("name"), "host"), Zone: f.Get("zone").Text(), Agent: readAgent(f.Get("agent"), agents),
		}
		if !slices.Contains(t.shorts(), host.Zone) {
			f.Get("zone").Fail("%q is not the short name of a zone: want one of %s", host.Zone, strings.Join(t.shorts(), ", "))
		}
		for _, n := range f.Get("nodes").Some("at least one, such as {name: worker-a-1, role: worker}") {
			f := n.Fields("name", "role")
			node := Node{Name: nodes.read(f.Get("name"), "node"), Role: f.Get("role").Need("a role, such as worker").Text()}
			if len(roles) > 0 && !slices.Contains(roles, node.Role) {
				f.Get("role").Fail("%q is not a role: want one of %s", node.Role, strings.Join(roles, ", "))
			}
			host.Nodes = append(host.Nodes, node)
		}
		t.Hosts = append(t.Hosts, host)
	}
	if len(t.NodesOf(role.Master)) == 0 {
		n.Fail("no node has the role %s: want at least one, as masters hold the lock clients", role.Master)
	}
}

// readAgent refuses invalid URLs, and one agent for two hosts, which would share
// its links and faults.
func readAgent(n strictyaml.Node, seen map[string]bool) string {
	agent := n.Text()
	if agent == "" {
		return ""
	}
	host, ok := agentHost(agent)
	if !ok {
		n.Fail("%q is not the address of an agent: want http://HOST:PORT", agent)
	}
	if seen[host] {
		n.Fail("%q is the agent of another host too: want one agent for each host", agent)
	}
	seen[host] = true
	return agent
}

// agentHost returns the HOST:PORT of an agent's URL, if it is valid.
func agentHost(agent string) (host string, ok bool) {
	u, err := url.Parse(agent)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return "", false
	}
	return u.Host, u.Host != ""
}

func (t *Topology) readLatency(n strictyaml.Node) {
	f := n.Need("inside and between, each as {rtt: 1ms, jitter: 0.1ms}").Fields("inside", "between", "pairs")
	const want = "{rtt: 0.2ms, jitter: 0.04ms} or what your zones have"
	t.Latency.Inside = readRTT(f.Get("inside").Need(want).Fields("rtt", "jitter"))
	between := f.Get("between")
	if len(t.Zones) > 1 {
		between.Need(want)
	}
	if between.Given() {
		t.Latency.Between = readRTT(between.Fields("rtt", "jitter"))
	}
	for _, p := range f.Get("pairs").List() {
		f := p.Fields("zones", "rtt", "jitter")
		t.Latency.Pairs = append(t.Latency.Pairs, Pair{Zones: t.readPair(f.Get("zones")), RTT: readRTT(f)})
	}
}

func readRTT(f strictyaml.Node) (r RTT) {
	r.RTT = f.Get("rtt").Need("a duration such as 0.2ms").Duration(0, longest, "0.2ms")
	r.Jitter = f.Get("jitter").Duration(0, longest, "0.04ms")
	if r.Jitter > r.RTT {
		f.Get("jitter").Fail("%s is more than the rtt: want at most %s", r.Jitter, r.RTT)
	}
	return r
}

func (t *Topology) readPair(n strictyaml.Node) (zones [2]string) {
	two, known := n.Texts(), t.shorts()
	if len(two) != 2 || two[0] == two[1] || !slices.Contains(known, two[0]) || !slices.Contains(known, two[1]) {
		n.Fail("%q is not a pair: want two different zones out of %s", two, strings.Join(known, ", "))
		return zones
	}
	zones = [2]string{two[0], two[1]}
	for _, other := range t.Latency.Pairs {
		if other.Zones == zones || other.Zones == [2]string{zones[1], zones[0]} {
			n.Fail("the pair %s and %s appears twice: one entry holds for both directions", zones[0], zones[1])
		}
	}
	return zones
}

func (t *Topology) shorts() []string {
	var all []string
	for _, z := range t.Zones {
		all = append(all, z.Short)
	}
	return all
}

// hostMark stands for a host's name in the URL that [Topology.WithAgents] takes.
const hostMark = "{host}"

// WithAgents returns the topology with a running agent for every host that names none: at a
// URL such as http://{host}:7500, in which {host} stands for the host's name.
func (t *Topology) WithAgents(url string) (*Topology, error) {
	if host, ok := agentHost(strings.ReplaceAll(url, hostMark, "host")); !ok || !strings.Contains(host, "host") {
		return nil, fmt.Errorf("%q is not the address of every host's agent: want one such as http://%s:7500: %w",
			url, hostMark, ErrInvalid)
	}
	with := *t
	with.Hosts = slices.Clone(t.Hosts)
	for i, h := range with.Hosts {
		if h.Agent == "" {
			with.Hosts[i].Agent = strings.ReplaceAll(url, hostMark, h.Name)
		}
	}
	return &with, nil
}
