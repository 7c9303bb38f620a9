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
		Main: run, Command: command, Leads: leads, OwnClock: true,
		KeepsData: "raft servers that forget their votes may elect two leaders, and no lock on them promises anything then",
		Version:   version,
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
		Settings: settings, Founds: node.First, Recorder: node.Recorder, Clock: node.Clock, Log: node.Log,
	})
	if err != nil {
		return err
	}
	node.Metrics.MustRegister(server.metrics()...)
	node.Ready()
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-server.Failed():
		return errors.Join(err, server.Close())
	}
}

func (s *Server) metrics() []prometheus.Collector {
	gauge := func(name, help string, value func() uint64) prometheus.Collector {
		opts := prometheus.GaugeOpts{Name: "locklab_raft_" + name, Help: help}
		return prometheus.NewGaugeFunc(opts, func() float64 { return float64(value()) })
	}
	leads := func() uint64 { return map[bool]uint64{true: 1}[s.status().State == "leader"] }
	return []prometheus.Collector{
		gauge("leader", "Whether this server leads the service.", leads),
		gauge("term", "The term that this server is in.", s.raft.CurrentTerm),
		gauge("applied_index", "The newest entry that this server has applied.", s.raft.AppliedIndex),
	}
}

// leads asks a server whether it leads the service.
func leads(ctx context.Context, addr string) (bool, error) {
	status, err := wire.Ask(ctx, addr)
	return err == nil && status.State == "leader", err
}

// command gives a server one processor. Measured on two cores with three servers, one key handed
// on among 16 workers, that was a quarter faster.
func command([]byte) (role.Command, error) { return role.Command{Env: process.Environment()}, nil }

func version(context.Context) (string, error) {
	return "hashicorp/raft " + role.Library("github.com/hashicorp/raft"), nil
}

// newRaftLogger lets the raft library log through slog. What it warns of, and what it calls errors,
// are mostly peers that cannot be reached and elections, which are everyday life in the lab.
func newRaftLogger(log *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Level: hclog.Warn, DisableTime: true, Output: slog.NewLogLogger(log.Handler(), slog.LevelInfo).Writer(),
	})
}
