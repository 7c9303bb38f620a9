package cluster

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/masternode"
	"locklab/internal/httpapi"
	"locklab/nodes/agent"
	"locklab/nodes/diskfault"
	"locklab/nodes/master"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/nodes/worker"
)

// wire is what one node dials on another.
type wire struct {
	from, to topology.Placed
	port     string
	aliased  bool // it is dialed by its alias
}

// Plan is which nodes dial which in a run, and each node's settings.
type Plan struct {
	Topology  *topology.Topology         // only what the lock needs
	Seats     int                        // of a room, 0 where players get none
	Patience  time.Duration              // of players and clients
	Hold      time.Duration              // how long masters hold at least
	FakeClock bool                       // clocks are set of servers that are not the lab's own
	Disk      map[string]diskfault.Calls // by role: what a fault may stop of its nodes

	lock    catalog.Lock
	second  time.Duration // see topology.Second
	cluster string
	seed    uint64
	token   string                    // that the run's masters take orders by
	orders  string                    // that the run's workers take orders of rooms by
	aliases map[string]netip.AddrPort // by node: see aliasesOf
	wires   []wire
	ways    *sync.Map // wire -> catalog.Way: where its dialer finds its link, and what lies behind it
}

// NewPlan lays out the run of a lock on the part of the topology that it needs, with a name and a seed that no other
// run has.
func NewPlan(lock catalog.Lock, topo *topology.Topology, cluster string, seed uint64) Plan {
	p := Plan{
		Topology: lock.Part(topo), lock: lock, second: topo.Second(), cluster: cluster, seed: seed,
		token: httpapi.NewToken(), orders: httpapi.NewToken(), ways: new(sync.Map),
	}
	p.aliases = aliasesOf(lock, p.Topology)
	p.connect(role.Master, role.Worker, worker.Port, false)
	for _, s := range lock.Servers {
		p.connect(role.Master, s.Name, s.ClientPort, false)
		for _, port := range s.PeerPorts {
			p.connect(s.Name, s.Name, port, false)
		}
		for _, to := range lock.Servers {
			if slices.Contains(s.Dials, to.Name) {
				p.connect(s.Name, to.Name, to.ClientPort, true)
			}
		}
	}
	if lock.Peers {
		p.connect(role.Master, role.Master, masternode.PortPeer, false)
	}
	return p
}

// connect has all nodes of a role dial all others of another role, or of their own.
func (p *Plan) connect(fromRole, toRole, port string, aliased bool) {
	for _, from := range p.Topology.NodesOf(fromRole) {
		for _, to := range p.Topology.NodesOf(toRole) {
			if from.Name != to.Name {
				p.wires = append(p.wires, wire{from, to, port, aliased})
			}
		}
	}
}

// stages are the nodes in the order in which they start: servers before the nodes that dial them, as a
// client that gets no answer would begin its life with a back-off.
func (p Plan) stages() [][]topology.Placed {
	late := []string{role.Master}
	for i, server := range p.lock.Servers {
		if i > 0 { // it dials those before it
			late = slices.Insert(late, len(late)-1, server.Name)
		}
	}
	first := slices.DeleteFunc(p.Topology.Nodes(), func(n topology.Placed) bool { return slices.Contains(late, n.Role) })
	stages := [][]topology.Placed{first}
	for _, name := range late {
		stages = append(stages, p.Topology.NodesOf(name))
	}
	return stages
}

// members are the nodes of a role that a node dials, as its host reaches them.
func (p Plan) members(from topology.Placed, ofRole string) (all []catalog.Member) {
	for _, w := range p.wires {
		if w.from.Name != from.Name || w.to.Role != ofRole {
			continue
		}
		found, _ := p.ways.Load(w)
		way, _ := found.(catalog.Way)
		i := slices.IndexFunc(all, func(m catalog.Member) bool { return m.Name == w.to.Name })
		if i < 0 {
			rank, _ := p.Topology.Rank(w.to.Name)
			m := catalog.Member{Name: w.to.Name, Addr: way.Link, Rank: max(rank, 0), Role: ofRole}
			if alias, has := p.aliases[w.to.Name]; has {
				m.Alias = alias.String()
			}
			i, all = len(all), append(all, m)
		}
		all[i].Ways = append(all[i].Ways, way)
	}
	return all
}

// aliased are all nodes with an alias, among them this one, in the topology's order.
func (p Plan) aliased(self topology.Placed) (all []catalog.Member) {
	for _, n := range p.Topology.Nodes() {
		if alias, has := p.aliases[n.Name]; has {
			at := alias.String()
			all = append(all, catalog.Member{Name: n.Name, Addr: at, Role: n.Role, Alias: at, Self: n.Name == self.Name})
		}
	}
	return all
}

// HostPairs lists the ordered pairs of hosts between which something dials.
func (p Plan) HostPairs() (pairs [][2]string) {
	for _, w := range p.wires {
		pair := [2]string{w.from.Host, w.to.Host}
		if pair[0] != pair[1] && !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// spec is how a node is started.
func (p Plan) spec(n topology.Placed) (agent.NodeSpec, error) {
	settings, err := p.settings(n)
	return agent.NodeSpec{
		Name: n.Name, Role: n.Role, Settings: settings, FakeClock: p.FakeClock, Disk: p.Disk[n.Role],
	}, err
}

// settings is what a node is told when it starts.
func (p Plan) settings(n topology.Placed) (jsontext.Value, error) {
	switch n.Role {
	case role.Master:
		return p.masterSettings(n)
	case role.Worker:
		s := worker.DefaultSettings()
		s.Name, s.Token = n.Name, p.orders
		s.Capacity = cmp.Or(p.Seats, s.Capacity)
		return json.Marshal(s)
	}
	for _, s := range p.lock.Servers {
		switch {
		case s.Name != n.Role:
		case s.Settings == nil:
			return jsontext.Value("{}"), nil
		case len(s.Dials) > 0:
			return json.Marshal(s.Settings(p.aliased(n), p.second))
		default:
			return json.Marshal(s.Settings(p.members(n, n.Role), p.second))
		}
	}
	return nil, fmt.Errorf("node %s: nothing gives settings to the role %s with the lock %s", n.Name, n.Role, p.lock)
}

func (p Plan) masterSettings(n topology.Placed) (jsontext.Value, error) {
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Lock, s.Hold = n.Name, n.Zone, p.lock.String(), p.Hold
	s.WorkerToken, s.Patience, s.Second = p.orders, p.Patience, p.second
	for _, m := range p.members(n, role.Worker) {
		w, _ := p.Topology.Node(m.Name)
		s.Workers = append(s.Workers, master.WorkerAddr{Name: m.Name, Zone: w.Zone, Addr: m.Addr})
	}
	lock, err := p.lock.Settings(s.Second)
	if err != nil {
		return nil, err
	}
	lock.Cluster, lock.Seed, lock.Peers = p.cluster, p.seed, p.members(n, role.Master)
	lock.Rank, _ = p.Topology.Rank(n.Name)
	for _, server := range p.lock.Servers {
		lock.Servers = append(lock.Servers, p.members(n, server.Name)...)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(masternode.Settings{Master: text, Lock: lock, Token: p.token})
}

// aliasesOf gives an address of the loopback network to every server of a lock whose servers
// tell each other addresses. It means that server on every host of the run, because the
// links of all of them listen there, each for its own host's nodes. Other runs on this
// machine must have other ones, so they are drawn, and not from the seed.
func aliasesOf(lock catalog.Lock, topo *topology.Topology) map[string]netip.AddrPort {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	network, port := binary.BigEndian.Uint16(random[:2]), binary.BigEndian.Uint16(random[2:])
	// 127.1.0.0 to 127.239.255.0, and ports that kernels do not give to outgoing connections
	next := 127<<24 + 1<<16 + uint32(network)%(239<<8)<<8
	aliases := map[string]netip.AddrPort{}
	for _, s := range lock.Servers {
		if len(s.Dials) == 0 {
			continue
		}
		for _, n := range topo.NodesOf(s.Name) {
			next++
			var ip [4]byte
			binary.BigEndian.PutUint32(ip[:], next)
			aliases[n.Name] = netip.AddrPortFrom(netip.AddrFrom4(ip), 20000+port%10000)
		}
	}
	return aliases
}

// atAlias has the link listen at the alias of the node that it leads to, for connections from the alias of
// its own node.
func (p Plan) atAlias(w wire, s link.Spec) link.Spec {
	s.Name = w.from.Name + " to " + s.Name
	s.Listen, s.Source = p.aliases[w.to.Name].String(), p.aliases[w.from.Name].Addr().String()
	return s
}

// nodeAt is the node with the alias, "" if there is none.
func (p Plan) nodeAt(alias string) string {
	for name, at := range p.aliases {
		if at.String() == alias {
			return name
		}
	}
	return ""
}
