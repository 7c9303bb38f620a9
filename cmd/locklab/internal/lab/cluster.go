package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/httpapi"
	"locklab/nodes/agent"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/mutex"
)

// cluster is the nodes and links of one run.
type cluster struct {
	fleet *fleet
	topo  *topology.Topology           // the plan's
	plan  plan                         // what the nodes are told
	addrs map[string]map[string]string // node -> port -> address that other hosts dial

	followers map[string]*agent.Follower // by host
	recorder  history.Recorder
	logDir    string           // where the nodes' logs are kept
	stopped   sync.Map         // host -> when a fault of the scenario began to stop it, on clock.Mono
	lost      map[string]int64 // host -> when it went, of those that were not back when the run ended
}

// up brings the cluster of one run up, and empties the machines before. Its error is errGivenUp if a host that the
// run needs is gone, or a machine is too slow.
func (f *fleet) up(ctx context.Context, p plan, rec history.Recorder, logDir string) (_ *cluster, err error) {
	c := &cluster{fleet: f, topo: p.topo, plan: p, recorder: rec, logDir: logDir}
	defer func() {
		if err != nil {
			err = errors.Join(giveUp(err), c.down(ctx))
		}
	}()
	if err := c.each(func(m *machine) error {
		if m.returning {
			f.notice("waiting for host " + m.Name + " to come back")
		}
		return m.enlist(ctx)
	}); err != nil {
		return nil, fmt.Errorf("empty the hosts: %w", err)
	}
	c.follow(ctx)
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	for _, stage := range p.stages() {
		if err := c.start(ctx, stage); err != nil {
			return nil, err
		}
	}
	return c, nil
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

// each calls do for all machines of the run at once.
func (c *cluster) each(do func(*machine) error) error {
	return together(c.topo.Hosts, func(h topology.Host) error { return do(c.machine(h.Name)) })
}

// follow records what the hosts' nodes and agents tell, on the controller's clock.
func (c *cluster) follow(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // what an interrupted run did is evidence too
	c.followers = map[string]*agent.Follower{}
	for _, h := range c.topo.Hosts {
		m := c.machine(h.Name)
		c.followers[h.Name] = m.agent.Follow(ctx, func(e history.Event) error {
			m.clock.shift(&e)
			c.recorder.Record(e)
			return nil
		})
	}
}

func (c *cluster) machine(host string) *machine { return c.fleet.machines[host] }

// connect reserves the nodes' addresses, opens a link for everything that one node dials on another host, and
// has the hosts that are linked probe each other.
func (c *cluster) connect(ctx context.Context) error {
	var mu sync.Mutex
	c.addrs = map[string]map[string]string{}
	if err := together(c.topo.Nodes(), func(n topology.Placed) error {
		found, err := c.machine(n.Host).agent.Reserve(ctx, n.Name, n.Role)
		mu.Lock()
		defer mu.Unlock()
		c.addrs[n.Name] = found
		return err
	}); err != nil {
		return fmt.Errorf("reserve addresses: %w", err)
	}
	if err := together(c.plan.wires, func(w wire) error {
		addr, err := c.open(ctx, w)
		if err != nil {
			return fmt.Errorf("open link from %s to %s: %w", w.from.Host, w.to.Name, err)
		}
		c.plan.ways.Store(w, catalog.Way{Link: addr, To: c.addrs[w.to.Name][w.port]})
		return nil
	}); err != nil {
		return err
	}
	return c.probe(ctx)
}

func (c *cluster) open(ctx context.Context, w wire) (string, error) {
	upstream := c.addrs[w.to.Name][w.port]
	if w.from.Host == w.to.Host && !w.aliased {
		return upstream, nil // not a link: nothing lies between
	}
	delay := oneWay(c.topo.Between(w.from.Host, w.to.Host))
	spec := link.Spec{
		Name: w.to.Name + "/" + w.port, ToHost: w.to.Host, ToNode: w.to.Name,
		Upstream: upstream, Up: delay, Down: delay,
	}
	if w.aliased {
		spec = c.plan.atAlias(w, spec)
	}
	return c.machine(w.from.Host).links.Open(ctx, spec)
}

// oneWay is a direction's share of a round trip: drawn evenly around its half.
func oneWay(rtt topology.RTT) link.Delay {
	return link.Delay{Base: max(rtt.RTT/2-rtt.Jitter/2, 0), Jitter: rtt.Jitter}
}

func (c *cluster) probe(ctx context.Context) error {
	err := together(c.plan.hostPairs(), func(pair [2]string) error {
		report, err := c.machine(pair[1]).links.Probes(ctx)
		if err != nil {
			return err
		}
		delay := oneWay(c.topo.Between(pair[0], pair[1]))
		spec := link.Spec{Name: "probe " + pair[1], ToHost: pair[1], Upstream: report.Echo, Up: delay, Down: delay}
		_, err = c.machine(pair[0]).links.Open(ctx, spec)
		return err
	})
	if err != nil {
		return fmt.Errorf("start probes: %w", err)
	}
	return nil
}

func (c *cluster) start(ctx context.Context, nodes []topology.Placed) error {
	return together(nodes, func(n topology.Placed) error {
		spec, err := c.plan.spec(n)
		if err != nil {
			return err
		}
		if err := c.machine(n.Host).agent.Start(ctx, spec); err != nil {
			return fmt.Errorf("start %s: %w", n.Name, err)
		}
		return nil
	})
}

// drainTime is how long the last events of a host may take to arrive.
const drainTime = 15 * time.Second

// down stops the nodes, waits for the last of their events and clears the links. What a lost host can no
// longer do is no error.
func (c *cluster) down(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	c.findLost(ctx)
	// Nodes that dial end first, so that their good-byes still find their servers.
	var errs []error
	for _, stage := range slices.Backward(c.plan.stages()) {
		errs = append(errs, c.stop(ctx, stage))
	}
	errs = append(errs, c.ask(ctx, func(ctx context.Context, m *machine) error {
		f := c.followers[m.Name]
		if f == nil {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, drainTime)
		defer cancel()
		err := f.Drain(limited)
		f.Close()
		return errors.Join(err, f.Err())
	}))
	errs = append(errs, c.ask(ctx, c.recordHand), c.settleClocks(ctx), c.ask(ctx, c.keepLogs))
	c.recordLost()
	errs = append(errs, c.ask(ctx, func(ctx context.Context, m *machine) error { return m.agent.Reset(ctx) }))
	return errors.Join(errs...)
}

// ask calls do for all machines of the run that are not lost, at once.
func (c *cluster) ask(ctx context.Context, do func(context.Context, *machine) error) error {
	return c.each(func(m *machine) error {
		if _, lost := c.lost[m.Name]; lost {
			return nil
		}
		return c.tolerate(m.Name, do(ctx, m))
	})
}

// keepLogs writes what the machine's nodes had to say next to the history.
func (c *cluster) keepLogs(ctx context.Context, m *machine) error {
	host, _ := c.topo.Host(m.Name)
	for _, n := range host.Nodes {
		text, err := m.agent.Log(ctx, n.Name)
		if errors.Is(err, httpapi.ErrNotFound) || (err == nil && text == "") {
			continue // it was never started, or was silent
		}
		if err == nil {
			err = os.MkdirAll(c.logDir, 0o755)
		}
		if err == nil {
			path := filepath.Join(c.logDir, n.Name+".log")
			err = os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // reports are to be read by others
		}
		if err != nil {
			return fmt.Errorf("keep the log of %s: %w", n.Name, err)
		}
	}
	return nil
}

func (c *cluster) stop(ctx context.Context, nodes []topology.Placed) error {
	return together(nodes, func(n topology.Placed) error {
		if _, lost := c.lost[n.Host]; lost {
			return nil
		}
		err := c.machine(n.Host).agent.Stop(ctx, n.Name)
		if errors.Is(err, httpapi.ErrNotFound) || errors.Is(err, httpapi.ErrConflict) {
			return nil // it was never started, or has ended
		}
		return c.tolerate(n.Host, err)
	})
}

// masterURL is where players and the controller reach a master: directly, no link
// lies between.
func (c *cluster) masterURL(name string) string { return "http://" + c.addrs[name]["http"] }

// masters are how the players and the controller reach the masters.
func (c *cluster) masters() (all []mutex.Master) {
	for _, m := range c.topo.NodesOf(role.Master) {
		all = append(all, mutex.Master{Name: m.Name, URL: c.masterURL(m.Name), Token: c.plan.token})
	}
	return all
}
