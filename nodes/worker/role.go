package worker

import (
	"context"
	"net"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Port is the name of the one port of the role.
const Port = "http"

// Role is what an agent must know to run workers.
func Role() role.Role {
	return role.Role{
		Name: role.Worker, Ports: []string{Port}, ClientPort: Port, Main: runNode,
		Command: func(n role.Node) (role.Command, error) {
			_, err := ParseSettings(n.Settings)
			return role.Command{Env: process.Environment()}, err
		},
	}
}

func runNode(ctx context.Context, node *process.Node) error {
	settings, err := ParseSettings(node.Settings)
	if err != nil {
		return err
	}
	w, err := New(settings, node.Recorder, node.Log)
	if err != nil {
		return err
	}
	return w.Serve(ctx, node.Addrs[Port], func(net.Addr) { node.Ready() })
}
