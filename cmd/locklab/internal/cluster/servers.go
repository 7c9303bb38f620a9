package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks/program"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// Servers are those of a lock, without masters and workloads, behind links that can be cut.
type Servers struct {
	Reached []program.Server // as a client of the lock reaches them

	fleet *Fleet
}

// fewest is how many servers of a role run if the lock takes any number.
const fewest = 3

// serversTime is how long the servers may take to start.
const serversTime = 2 * time.Minute

// clientHost is the host of the servers' client: it has links, and no node.
const clientHost = "client"

// StartServers starts what the lock needs on this machine.
func StartServers(ctx context.Context, lock catalog.Lock, log *slog.Logger) (_ *Servers, err error) {
	ctx, cancel := context.WithTimeout(ctx, serversTime)
	defer cancel()
	if err := lock.Missing(); err != nil {
		return nil, err
	}
	client := topology.Node{Name: clientHost, Role: role.Master}
	servers := topology.Host{Name: "here"}
	for _, s := range lock.Servers {
		for i := range cmp.Or(s.Nodes, fewest) {
			servers.Nodes = append(servers.Nodes, topology.Node{Name: fmt.Sprintf("%s-%d", s.Name, i+1), Role: s.Name})
		}
	}
	topo := &topology.Topology{Hosts: []topology.Host{{Name: clientHost, Nodes: []topology.Node{client}}, servers}}
	s := &Servers{}
	if s.fleet, err = StartFleet(ctx, Config{Hosts: topo.Hosts, Log: log}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	l := NewLayout(lock, topo, "", 0)
	c := &Cluster{fleet: s.fleet, layout: l}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	stages := l.stages()
	for _, stage := range stages[:len(stages)-1] { // without the client
		if err := c.start(ctx, stage); err != nil {
			return nil, err
		}
	}
	for _, server := range lock.Servers {
		for _, m := range l.members(topology.Placed{Node: client, Host: clientHost}, server.Name) {
			s.Reached = append(s.Reached, program.Server{Name: m.Name, Role: m.Role, Addr: m.Addr})
		}
	}
	return s, nil
}

// Cut keeps the client from the servers until heal is called.
func (s *Servers) Cut(ctx context.Context) (heal func() error, err error) {
	links := s.fleet.machines[clientHost].links
	cut := link.Impairment{ID: "cut", Direction: link.Both, Effect: new(link.Hold)}
	if err := links.Apply(ctx, cut); err != nil {
		return nil, err
	}
	return func() error {
		_, err := links.Heal(context.WithoutCancel(ctx), cut.ID)
		return err
	}, nil
}

// Close ends the servers.
func (s *Servers) Close() error { return s.fleet.Close() }
