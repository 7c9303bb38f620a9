package raftnode

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/locks/raftlock/wire"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The ports of a server.
const (
	PortClient = "client" // for lock clients
	PortRaft   = "raft"   // the other servers
)

// Name is the role's name.
const Name = "raft"

// Role describes the role to an agent.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{PortClient, PortRaft}, ClientPort: PortClient, PeerPorts: []string{PortRaft},
		Main: run, Env: process.Environment, Leads: leads, OwnClock: true,
		KeepsData: "raft servers that forget their votes may elect two leaders, and no lock on them promises anything then",
	}
}

// run runs a server until ctx ends.
func run(ctx context.Context, node *process.Node) error {
	var settings Settings
	if err := node.Decode(&settings); err != nil {
		return err
	}
	server, err := Start(ctx, Config{
		Name: node.Name, Dir: node.Dir,
		ClientAddr: node.Addrs[PortClient], RaftAddr: node.Addrs[PortRaft],
		Settings: settings, Founds: node.First, Clock: node.Clock, Log: node.Log,
	})
	if err != nil {
		return err
	}
	node.Metrics.MustRegister(server.metrics())
	node.Ready()
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-server.Failed():
		return errors.Join(err, server.Close())
	}
}

// metrics returns a gauge that is 1 while this server leads.
func (s *Server) metrics() prometheus.Collector {
	opts := prometheus.GaugeOpts{Name: "locklab_raft_leader", Help: "Whether this server leads the service."}
	return prometheus.NewGaugeFunc(opts, func() float64 {
		if s.status().State == "leader" {
			return 1
		}
		return 0
	})
}

// leads asks a server whether it leads the service.
func leads(ctx context.Context, addr string) (bool, error) {
	status, err := wire.Ask(ctx, addr)
	return err == nil && status.State == "leader", err
}
