package lab

import (
	"encoding/json"
	"sync"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/nodebody"
	"locklab/locks"
	"locklab/locks/raftlock"
	"locklab/locks/redlock"
	"locklab/nodes/bearer"
	"locklab/nodes/master"
	"locklab/nodes/raftnode"
	"locklab/nodes/redisnode"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/nodes/worker"
)

// peerPort is the port of masters that peers of a lock reach each other at.
const peerPort = "peer"

// wire is what one node dials on another.
type wire struct {
	from, to topology.Placed
	port     string
}

// plan says who dials whom in a run, and what each node is told.
type plan struct {
	spec    locks.Spec
	entry   catalog.Entry
	topo    *topology.Topology
	cluster string
	seed    uint64
	seats   int           // of a room
	hold    time.Duration // how long masters hold at least
	token   string        // that the run's masters take orders by
	wires   []wire

	addrs *wireAddrs
}

// wireAddrs is where each wire's dialer finds its link.
type wireAddrs struct {
	mu   sync.Mutex
	addr map[wire]string
}

// newPlan lays out the run of a lock on the part of the topology that it needs.
func newPlan(c *Config, spec locks.Spec, cluster string, seed uint64) (plan, error) {
	entry, err := catalog.Lookup(spec)
	if err != nil {
		return plan{}, err
	}
	p := plan{
		spec: spec, entry: entry, topo: c.Topology.Subset(entry.Roles()...), cluster: cluster, seed: seed, seats: c.Seats, token: bearer.New(),
		addrs: &wireAddrs{addr: map[wire]string{}},
	}
	masters := p.topo.NodesOf(role.Master)
	for _, m := range masters {
		for _, w := range p.topo.NodesOf(role.Worker) {
			p.wires = append(p.wires, wire{m, w, "http"})
		}
		for _, server := range p.topo.NodesOf(entry.Needs...) {
			p.wires = append(p.wires, wire{m, server, clientPort(server.Role)})
		}
		if entry.Peers {
			p.wires = append(p.wires, mesh(m, masters, peerPort)...)
		}
	}
	rafts := p.topo.NodesOf(role.Raft)
	for _, n := range rafts {
		p.wires = append(p.wires, mesh(n, rafts, "raft")...)
	}
	return p, nil
}

// mesh is what a member dials on all others.
func mesh(from topology.Placed, members []topology.Placed, port string) []wire {
	var wires []wire
	for _, to := range members {
		if to.Name != from.Name {
			wires = append(wires, wire{from, to, port})
		}
	}
	return wires
}

// clientPort is the port that a lock's client dials on its server.
func clientPort(serverRole string) string {
	if serverRole == role.Redis {
		return "redis"
	}
	return "client"
}

// set notes where the dialer of a wire finds its link.
func (p plan) set(w wire, addr string) {
	p.addrs.mu.Lock()
	defer p.addrs.mu.Unlock()
	p.addrs.addr[w] = addr
}

func (p plan) addr(w wire) string {
	p.addrs.mu.Lock()
	defer p.addrs.mu.Unlock()
	return p.addrs.addr[w]
}

// hostPairs lists the ordered pairs of hosts between which something dials.
func (p plan) hostPairs() [][2]string {
	var pairs [][2]string
	seen := map[[2]string]bool{}
	for _, w := range p.wires {
		pair := [2]string{w.from.Host, w.to.Host}
		if pair[0] != pair[1] && !seen[pair] {
			seen[pair] = true
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// lockHostPairs are the pairs from masters to what their lock talks to.
func (p plan) lockHostPairs() [][2]string {
	var pairs [][2]string
	for _, w := range p.wires {
		if w.from.Role == role.Master && w.to.Role != role.Worker && w.from.Host != w.to.Host {
			pairs = append(pairs, [2]string{w.from.Host, w.to.Host})
		}
	}
	return pairs
}

// settings is what a node is told when it starts.
func (p plan) settings(n topology.Placed) any {
	switch n.Role {
	case role.Master:
		return p.masterSettings(n)
	case role.Worker:
		s := worker.DefaultSettings()
		s.Name, s.Capacity = n.Name, p.seats
		return s
	case role.Raft:
		return p.raftSettings(n)
	case role.Redis:
		options, _ := redlock.ParseOptions(p.spec) // checked before
		return redisnode.Settings{Persistence: string(options.Persistence)}
	}
	return struct{}{}
}

func (p plan) masterSettings(n topology.Placed) any {
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Lock, s.Hold = n.Name, n.Zone, p.spec.String(), p.hold
	lock := catalog.Settings{Spec: p.spec.String(), Cluster: p.cluster, Seed: p.seed}
	lock.Rank, _ = p.topo.Rank(n.Name)
	for _, w := range p.wires {
		if w.from.Name != n.Name {
			continue
		}
		switch w.to.Role {
		case role.Worker:
			s.Workers = append(s.Workers, master.WorkerAddr{Name: w.to.Name, Zone: w.to.Zone, Addr: p.addr(w)})
		case role.Master:
			rank, _ := p.topo.Rank(w.to.Name)
			lock.Peers = append(lock.Peers, catalog.Member{Name: w.to.Name, Addr: p.addr(w), Rank: rank})
		default:
			lock.Servers = append(lock.Servers, catalog.Member{Name: w.to.Name, Addr: p.addr(w)})
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err // becomes an error when it is marshalled: cannot happen with plain data
	}
	return nodebody.Master{Master: text, Lock: lock, Token: p.token}
}

func (p plan) raftSettings(n topology.Placed) any {
	s := raftnode.DefaultSettings()
	options, _ := raftlock.ParseOptions(p.spec) // checked before
	s.Store = options.Store
	for _, w := range p.wires {
		if w.from.Name == n.Name && w.to.Role == role.Raft {
			s.Peers = append(s.Peers, raftnode.Peer{Name: w.to.Name, Addr: p.addr(w)})
		}
	}
	return s
}
