// Package natsnode runs a NATS server with JetStream as a node of the lab.
package natsnode

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Name is the role's, and Port its one port's.
const (
	Name    = "nats"
	Port    = "nats"
	program = "nats-server"
)

// Role is what an agent must know to run a server.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{Port}, ClientPort: Port, Main: run, Version: version,
		Missing: func() error {
			if _, err := exec.LookPath(program); err != nil {
				return role.NotInstalled("NATS", program)
			}
			return nil
		},
	}
}

func run(ctx context.Context, node *process.Node) error {
	host, port, err := net.SplitHostPort(node.Addrs[Port])
	if err != nil {
		return fmt.Errorf("address of port %s: %w", Port, err)
	}
	data := filepath.Join(node.Dir, "data")
	cmd := exec.Command(program, "-a", host, "-p", port, "-js", "-sd", data) //nolint:noctx // Serve ends it
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		return role.AwaitGreeting(ctx, node.Addrs[Port])
	})
}

// version reads "nats-server: v2.9.10".
func version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	number, found := strings.CutPrefix(strings.TrimSpace(string(out)), program+": v")
	if err != nil || !found {
		return "", fmt.Errorf("ask nats-server for its version: it printed %q: %w", out, err)
	}
	return "nats-server " + number, nil
}
