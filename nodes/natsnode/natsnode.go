// Package natsnode runs a NATS server with JetStream as a node of the lab.
package natsnode

import (
	"context"
	"os/exec"
	"path/filepath"
	"syscall"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The names of the role, its port and its program.
const (
	Name    = "nats"
	Port    = "nats"
	program = "nats-server"
)

// Role describes the role to an agent.
func Role() role.Role {
	find := role.OnPath(program, program)
	return role.Role{
		Name: Name, Ports: []string{Port}, ClientPort: Port, Main: run,
		Missing: find.Missing, Version: find.Version(program, ": v", "--version"),
	}
}

func run(ctx context.Context, node *process.Node) error {
	host, port, err := node.Listens(Port)
	if err != nil {
		return err
	}
	data := filepath.Join(node.Dir, "data")
	cmd := exec.Command(program, "-a", host, "-p", port, "-js", "-sd", data) //nolint:noctx // Serve ends it
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		return role.Greets(ctx, node.Addrs[Port])
	})
}
