package worker

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Port is the name of the one port of the role.
const Port = "http"

// Service is what a worker serves beside its rooms, below its path.
type Service interface {
	http.Handler
	Close()
}

// Mount makes a service for a worker whose requests bear the token.
type Mount struct {
	Path string
	New  func(node *process.Node, token string) (Service, error)
}

// Role is what an agent must know to run workers with the mounts.
func Role(mounts ...Mount) role.Role {
	return role.Role{
		Name: role.Worker, Ports: []string{Port}, ClientPort: Port, Main: func(ctx context.Context, node *process.Node) error { return runNode(ctx, node, mounts) },
		Command: func(settings []byte) (role.Command, error) {
			_, err := ParseSettings(settings)
			return role.Command{Env: process.Environment()}, err
		},
	}
}

func runNode(ctx context.Context, node *process.Node, mounts []Mount) error {
	settings, err := ParseSettings(node.Settings)
	if err != nil {
		return err
	}
	if settings.Tracer, err = node.Trace(ctx, settings.OTLP); err != nil {
		return err
	}
	defer settings.Tracer.Close(ctx)
	w, err := New(settings, node.Recorder, node.Log)
	if err != nil {
		return err
	}
	node.Metrics.MustRegister(w)
	for _, m := range mounts {
		service, err := m.New(node, settings.Token)
		if err != nil {
			return fmt.Errorf("serve %s: %w", m.Path, err)
		}
		defer service.Close()
		w.http.Mount(m.Path, service)
	}
	return w.Serve(ctx, node.Addrs[Port], func(net.Addr) { node.Ready() })
}
