package raftnode

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	node.Metrics.MustRegister(server)
	node.Ready()
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-server.Failed():
		return errors.Join(err, server.Close())
	}
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

// leads asks a server whether it leads the service.
func leads(ctx context.Context, addr string) (bool, error) {
	status, err := wire.Ask(ctx, addr)
	return err == nil && status.State == "leader", err
}

func command([]byte) (role.Command, error) { return role.Command{Env: Environment()}, nil }

// Environment is what a server's process should find in its environment. An entry
// passes through a dozen goroutines of a server, and none of them computes much: on
// one processor they hand over without waking threads. Measured on two cores with
// three servers, one key handed on among 16 workers, that was a quarter faster.
func Environment() []string { return []string{"GOMAXPROCS=1"} }

// CheckSettings says what is wrong with a server's settings, nil if nothing is.
func CheckSettings(name string, raw []byte) error {
	var settings Settings
	if err := process.DecodeSettings(raw, &settings); err != nil {
		return fmt.Errorf("raft server %s: %w", name, err)
	}
	if err := settings.validate(name); err != nil {
		return fmt.Errorf("raft server %s: %w", name, err)
	}
	return nil
}

func version(context.Context) (string, error) {
	return strings.TrimSpace("hashicorp/raft " + role.Library("github.com/hashicorp/raft")), nil
}
