package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/agent"
	"locklab/nodes/hostload"
	"locklab/nodes/topology"
	"locklab/workloads/history"
)

// machine is a host of the topology with the clients of its agent and its links.
type machine struct {
	topology.Host
	agent *agent.Client
	links *link.Client
	local *Host // nil if the agent runs elsewhere

	greeted  bool   // its agent is the right one
	instance string // of its agent, since the run began; see agent.Health
	clock    hostClock

	returning bool // it was stopped on purpose and may still be on its way back
}

// Config is what a fleet is made of.
type Config struct {
	Hosts    []topology.Host
	Programs catalog.Programs  // of the locks that the user brings
	Seed     uint64            // of the links' jitter
	Token    string            // of running agents
	Wait     time.Duration     // for running agents that do not answer yet
	Log      *slog.Logger      // what agents and links have to say
	Notice   func(line string) // tells the user
}

// Fleet is all machines of a comparison. It outlives single runs.
type Fleet struct {
	Config
	machines map[string]*machine
	data     string // the directory of local hosts
}

// StartFleet starts an agent for every host that has none, and waits for the agents of the others.
func StartFleet(ctx context.Context, c Config) (_ *Fleet, err error) {
	f := &Fleet{Config: c, machines: map[string]*machine{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	// Agents of this process have a token too, as all users reach the loopback.
	own, gates := httpapi.NewToken(), link.NewGates()
	if f.data, err = os.MkdirTemp("", "locklab-*"); err != nil {
		return nil, err
	}
	for _, host := range c.Hosts {
		m := &machine{Host: host}
		url, token := host.Agent, c.Token
		if url == "" {
			config := HostConfig{Config: agent.DefaultConfig(), Seed: c.Seed, Gates: gates, Programs: c.Programs}
			config.Host, config.Zone, config.DataDir = host.Name, host.Zone, filepath.Join(f.data, host.Name)
			config.Token, config.Log = own, c.Log
			if m.local, err = StartHost(config); err != nil {
				return nil, fmt.Errorf("start agent of %s: %w", host.Name, err)
			}
			url, token = m.local.URL(), own
		}
		m.agent, m.links = agent.NewClient(url, token), link.NewClient(url, token)
		f.machines[host.Name] = m
	}
	deadline := clock.Mono() + int64(c.Wait)
	return f, f.each(func(m *machine) error { return m.greet(ctx, deadline) })
}

// greet checks that a running agent is the topology's. It asks again until the deadline, on clock.Mono.
func (m *machine) greet(ctx context.Context, deadline int64) error {
	if m.local != nil {
		return nil
	}
	health, err := m.agent.Health(ctx)
	for errors.Is(err, httpapi.ErrUnreachable) && clock.Mono() < deadline && ctx.Err() == nil {
		if clock.Sleep(ctx, 200*time.Millisecond) == nil {
			health, err = m.agent.Health(ctx)
		}
	}
	at := fmt.Sprintf("host %s: its agent at %s", m.Name, m.Agent)
	switch {
	case errors.Is(err, httpapi.ErrUnauthorized):
		return fmt.Errorf("%s refuses the token: want the agent's own token in LOCKLAB_TOKEN or --token-file: %w", at, err)
	case err != nil:
		return fmt.Errorf("%s cannot be reached: start it with `locklab agent --host %s`, or correct the topology: %w",
			at, m.Name, err)
	case health.Host != m.Name:
		return fmt.Errorf("%s is that of host %s: correct the topology", at, health.Host)
	}
	m.greeted = true
	return nil
}

// askTime is how long an agent may take to answer, tries included.
const askTime = 3 * time.Second

// returnTime is how long a host that was stopped on purpose may take to come back.
const returnTime = 5 * time.Minute

// enlist empties the machine for a run and reads its clock. It waits for a host that the last run stopped.
func (m *machine) enlist(ctx context.Context) error {
	m.instance, m.clock = "", hostClock{}
	patience := askTime
	if m.returning {
		patience = returnTime
	}
	if err := m.greet(ctx, clock.Mono()+int64(patience)); err != nil {
		return err
	}
	m.returning = false
	if err := m.agent.Reset(ctx); err != nil || m.local != nil {
		return err
	}
	health, err := m.agent.Health(ctx)
	if err != nil {
		return err
	}
	m.instance = health.Instance
	m.clock.readNS = clock.Mono()
	if m.clock.Offset, err = m.agent.ClockOffset(ctx, clockRoundTrips); err != nil {
		return fmt.Errorf("host %s: read its clock: %w", m.Name, err)
	}
	return nil
}

// each calls do for all machines at once and returns the first error.
func (f *Fleet) each(do func(*machine) error) error {
	return together(slices.Collect(maps.Values(f.machines)), do)
}

// together calls do for all of them at once and returns the first error.
func together[T any](all []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(64)
	for _, v := range all {
		group.Go(func() error { return do(v) })
	}
	return group.Wait()
}

// Version is that of a role's program at a host.
func (f *Fleet) Version(ctx context.Context, host, role string) (string, error) {
	version, err := f.machines[host].agent.Version(ctx, role)
	if err != nil {
		return "", fmt.Errorf("ask %s for the version of %s: %w", host, role, err)
	}
	return version, nil
}

// Close ends the agents of this process, and leaves running ones empty.
func (f *Fleet) Close() error {
	err := f.each(func(m *machine) error {
		if m.local != nil {
			return m.local.Close()
		}
		if !m.greeted || m.returning {
			return nil // perhaps another lab's agent, or gone with its host
		}
		return m.agent.Reset(context.Background())
	})
	for _, m := range f.machines {
		m.agent.Close()
		m.links.Disconnect()
	}
	return errors.Join(err, os.RemoveAll(f.data))
}

// MeasureEach is the time between two samples of a machine: short enough to find its busiest second.
const MeasureEach = 500 * time.Millisecond

// Measure samples this machine and its nodes until done ends. Agents elsewhere sample theirs.
func (f *Fleet) Measure(done context.Context, rec history.Recorder) {
	sampler := hostload.New(f.localPIDs(), f.data)
	defer sampler.Close()
	for done.Err() == nil {
		_ = clock.Sleep(done, MeasureEach) // the last sample is that of the end
		rec.Record(sampler.Sample(f.localPIDs()))
	}
}

func (f *Fleet) localPIDs() []int {
	var pids []int
	for _, m := range f.machines {
		if m.local != nil {
			pids = append(pids, m.local.agent.PIDs()...)
		}
	}
	return pids
}

// ServeToxiproxy serves toxiproxy's API over the links of the fleet until stop is called.
func (f *Fleet) ServeToxiproxy(ctx context.Context, at net.Listener) (stop func()) {
	if at == nil {
		return func() {}
	}
	links := map[string]*link.Client{}
	for name, m := range f.machines {
		links[name] = m.links
	}
	ctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() {
		if err := httpapi.Serve(ctx, at, link.Toxiproxy(links), f.Log); err != nil {
			f.Log.Warn("toxiproxy's API ended", "error", err)
		}
	})
	return func() {
		cancel()
		served.Wait()
	}
}
