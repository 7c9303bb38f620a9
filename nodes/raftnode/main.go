package raftnode

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hashicorp/go-hclog"
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

// Name is the role's.
const Name = "raft"

// Settings is what the controller sends to a server, as JSON.
type Settings struct {
	// Peers are the other servers of the service. All servers together, this one
	// included, are its fixed membership.
	Peers []Peer `json:"peers"`
	// NoSync has the server not wait for its disk: a power cut takes what it has logged.
	NoSync bool `json:"no_sync,omitempty"`
}

// Peer is another server as this server's host reaches it.
type Peer struct {
	Name string `json:"name"`
	// Addr is what to dial for the peer's raft port: on a lab host, the link's proxy.
	Addr string `json:"addr"`
}

// Role is what an agent must know to run a server.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{PortClient, PortRaft}, ClientPort: PortClient, PeerPorts: []string{PortRaft},
		Main: run, Env: process.Environment, Leads: leads, OwnClock: true,
		KeepsData: "raft servers that forget their votes may elect two leaders, and no lock on them promises anything then",
	}
}

// run is a server as an agent's child process until ctx ends.
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

// metrics says whether this server leads.
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

// newRaftLogger lets the raft library log through slog. What it warns of, and what it calls errors,
// are mostly peers that cannot be reached and elections, which are everyday life in the lab.
func newRaftLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Level: hclog.Warn, DisableTime: true, Output: slog.NewLogLogger(log.Handler(), slog.LevelInfo).Writer(),
	})
}
