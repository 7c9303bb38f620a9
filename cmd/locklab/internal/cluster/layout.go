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

// Layout is which nodes dial which in a run, and each node's settings.
type Layout struct {
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

// NewLayout lays out a run of a lock, with a name and a seed that no other run has.
func NewLayout(lock catalog.Lock, topo *topology.Topology, cluster string, seed uint64) Layout {
	l := Layout{
		Topology: lock.Part(topo), lock: lock, second: topo.Second(), cluster: cluster, seed: seed,
		token: httpapi.NewToken(), orders: httpapi.NewToken(), ways: new(sync.Map),
	}
	l.aliases = aliasesOf(lock, l.Topology)
	l.connect(role.Master, role.Worker, worker.Port, false)
	for _, s := range lock.Servers {
		l.connect(role.Master, s.Name, s.ClientPort, false)
		for _, port := range s.PeerPorts {
			l.connect(s.Name, s.Name, port, false)
		}
		for _, to := range lock.Servers {
			if slices.Contains(s.Dials, to.Name) {
				l.connect(s.Name, to.Name, to.ClientPort, true)
			}
		}
	}
	if lock.Peers {
		l.connect(role.Master, role.Master, catalog.PortPeer, false)
	}
	return l
}

// connect has all nodes of a role dial all others of another role, or of their own.
func (l *Layout) connect(fromRole, toRole, port string, aliased bool) {
	for _, from := range l.Topology.NodesOf(fromRole) {
		for _, to := range l.Topology.NodesOf(toRole) {
			if from.Name != to.Name {
				l.wires = append(l.wires, wire{from, to, port, aliased})
			}
		}
	}
}

// stages are the nodes in the order of their start: servers first, or their clients would begin with a back-off.
func (l Layout) stages() [][]topology.Placed {
	late := []string{role.Master}
	for i, server := range l.lock.Servers {
		if i > 0 { // it dials those before it
			late = slices.Insert(late, len(late)-1, server.Name)
		}
	}
	first := slices.DeleteFunc(l.Topology.Nodes(), func(n topology.Placed) bool { return slices.Contains(late, n.Role) })
	stages := [][]topology.Placed{first}
	for _, name := range late {
		stages = append(stages, l.Topology.NodesOf(name))
	}
	return stages
}

// members are the nodes of a role that a node dials, as its host reaches them.
func (l Layout) members(from topology.Placed, ofRole string) (all []catalog.Member) {
	for _, w := range l.wires {
		if w.from.Name != from.Name || w.to.Role != ofRole {
			continue
		}
		found, _ := l.ways.Load(w)
		way, _ := found.(catalog.Way)
		i := slices.IndexFunc(all, func(m catalog.Member) bool { return m.Name == w.to.Name })
		if i < 0 {
			rank, _ := l.Topology.Rank(w.to.Name)
			m := catalog.Member{Name: w.to.Name, Addr: way.Link, Rank: max(rank, 0), Role: ofRole}
			if alias, has := l.aliases[w.to.Name]; has {
				m.Alias = alias.String()
			}
			i, all = len(all), append(all, m)
		}
		all[i].Ways = append(all[i].Ways, way)
	}
	return all
}

// aliased are all nodes with an alias, among them this one, in the topology's order.
func (l Layout) aliased(self topology.Placed) (all []catalog.Member) {
	for _, n := range l.Topology.Nodes() {
		if alias, has := l.aliases[n.Name]; has {
			at := alias.String()
			all = append(all, catalog.Member{Name: n.Name, Addr: at, Role: n.Role, Alias: at, Self: n.Name == self.Name})
		}
	}
	return all
}

// HostPairs lists the ordered pairs of hosts between which something dials.
func (l Layout) HostPairs() (pairs [][2]string) {
	for _, w := range l.wires {
		pair := [2]string{w.from.Host, w.to.Host}
		if pair[0] != pair[1] && !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

func (l Layout) spec(n topology.Placed) (agent.NodeSpec, error) {
	settings, err := l.settings(n)
	return agent.NodeSpec{
		Name: n.Name, Role: n.Role, Settings: settings, FakeClock: l.FakeClock, Disk: l.Disk[n.Role],
	}, err
}

func (l Layout) settings(n topology.Placed) (jsontext.Value, error) {
	switch n.Role {
	case role.Master:
		return l.masterSettings(n)
	case role.Worker:
		s := worker.DefaultSettings()
		s.Name, s.Token = n.Name, l.orders
		s.Capacity = cmp.Or(l.Seats, s.Capacity)
		return json.Marshal(s)
	}
	for _, s := range l.lock.Servers {
		switch {
		case s.Name != n.Role:
		case s.Settings == nil:
			return jsontext.Value("{}"), nil
		case len(s.Dials) > 0:
			return json.Marshal(s.Settings(l.aliased(n), l.second))
		default:
			return json.Marshal(s.Settings(l.members(n, n.Role), l.second))
		}
	}
	return nil, fmt.Errorf("node %s: nothing gives settings to the role %s with the lock %s", n.Name, n.Role, l.lock)
}

func (l Layout) masterSettings(n topology.Placed) (jsontext.Value, error) {
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Lock, s.Hold = n.Name, n.Zone, l.lock.String(), l.Hold
	s.WorkerToken, s.Patience, s.Second = l.orders, l.Patience, l.second
	for _, m := range l.members(n, role.Worker) {
		w, _ := l.Topology.Node(m.Name)
		s.Workers = append(s.Workers, master.WorkerAddr{Name: m.Name, Zone: w.Zone, Addr: m.Addr})
	}
	lock, err := l.lock.Settings(s.Second)
	if err != nil {
		return nil, err
	}
	lock.Cluster, lock.Seed, lock.Peers = l.cluster, l.seed, l.members(n, role.Master)
	lock.Rank, _ = l.Topology.Rank(n.Name)
	for _, server := range l.lock.Servers {
		lock.Servers = append(lock.Servers, l.members(n, server.Name)...)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(catalog.MasterSettings{Master: text, Lock: lock, Token: l.token})
}

// aliasesOf draws a loopback address for every server of a lock whose servers tell each other addresses. The address is
// right on every host: the links of each listen there for its own nodes. It does not come from the seed, as other runs
// on this machine must have other ones.
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

// atAlias has the link listen at the alias of its target, for connections from the alias of its own node.
func (l Layout) atAlias(w wire, s link.Spec) link.Spec {
	s.Name = w.from.Name + " to " + s.Name
	s.Listen, s.Source = l.aliases[w.to.Name].String(), l.aliases[w.from.Name].Addr().String()
	return s
}

// nodeAt is the node with the alias, "" if there is none.
func (l Layout) nodeAt(alias string) string {
	for name, at := range l.aliases {
		if at.String() == alias {
			return name
		}
	}
	return ""
}
