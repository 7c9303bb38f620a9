package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/chaos/link"
	"locklab/chaos/toxic"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/scratch"
	"locklab/internal/httpapi"
	"locklab/locks/program"
	"locklab/nodes/agent"
)

// Servers are those that a lock needs, alone: without masters and workloads, behind links
// that can be cut.
type Servers struct {
	Reached []program.Server // as a client of the lock reaches them

	host  *Host
	data  *scratch.Dir
	agent *agent.Client
}

// fewest is how many servers run of a role of which the lock takes all that there are.
const fewest = 3

// serversTime is how long the servers may take to start.
const serversTime = 2 * time.Minute

// StartServers starts what the lock needs on this machine.
func StartServers(ctx context.Context, lock catalog.Lock, log *slog.Logger) (_ *Servers, err error) {
	ctx, cancel := context.WithTimeout(ctx, serversTime)
	defer cancel()
	if err := lock.Missing(); err != nil {
		return nil, err
	}
	s := &Servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.data, err = scratch.New(); err != nil {
		return nil, err
	}
	token := httpapi.NewToken()
	config := HostConfig{Config: agent.DefaultConfig()}
	config.Host, config.DataDir, config.Token, config.Log = "here", s.data.Path, token, log
	if s.host, err = StartHost(config); err != nil {
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	s.agent = agent.NewClient(s.host.URL(), token)
	for _, server := range lock.Servers {
		if err := s.start(ctx, server); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// start starts the servers of one role, all at once: some wait for each other.
func (s *Servers) start(ctx context.Context, server catalog.Server) error {
	var members []catalog.Member
	nodes := server.Nodes
	if nodes == 0 {
		nodes = fewest
	}
	for i := range nodes {
		name := fmt.Sprintf("%s-%d", server.Name, i+1)
		addrs, err := s.agent.Reserve(ctx, name, server.Name)
		if err != nil {
			return fmt.Errorf("reserve addresses for %s: %w", name, err)
		}
		m := catalog.Member{Name: name}
		for _, port := range server.PeerPorts {
			m.Ways = append(m.Ways, catalog.Way{Link: addrs[port], To: addrs[port]})
		}
		if len(m.Ways) > 0 {
			m.Addr = m.Ways[0].Link
		}
		members = append(members, m)
		to := addrs[server.ClientPort]
		addr, err := s.host.links.Open(link.Spec{Name: name, ToHost: name, ToNode: name, Upstream: to})
		if err != nil {
			return fmt.Errorf("open a link to %s: %w", name, err)
		}
		s.Reached = append(s.Reached, program.Server{Name: name, Role: server.Name, Addr: addr})
	}
	return together(members, func(m catalog.Member) error {
		var others []catalog.Member
		for _, o := range members {
			if o.Name != m.Name {
				others = append(others, o)
			}
		}
		settings, err := json.Marshal(server.Settings(others, time.Second))
		if err != nil {
			return err
		}
		if err := s.agent.Start(ctx, agent.NodeSpec{Name: m.Name, Role: server.Name, Settings: settings}); err != nil {
			return fmt.Errorf("start %s: %w", m.Name, err)
		}
		return nil
	})
}

// Cut keeps everybody from the servers until heal is called.
func (s *Servers) Cut(context.Context) (heal func() error, err error) {
	const id = "cut"
	if err := s.host.links.Apply(link.Impairment{ID: id, Direction: link.Both, Effect: new(toxic.Hold)}); err != nil {
		return nil, err
	}
	return func() error {
		s.host.links.Heal(id)
		return nil
	}, nil
}

// Close ends the servers.
func (s *Servers) Close() error {
	var errs []error
	if s.agent != nil {
		s.agent.Close()
	}
	if s.host != nil {
		errs = append(errs, s.host.Close())
	}
	if s.data != nil {
		errs = append(errs, s.data.Remove())
	}
	return errors.Join(errs...)
}
