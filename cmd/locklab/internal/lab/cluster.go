package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/httpapi"
	"locklab/nodes/agent"
	"locklab/nodes/topology"
	"locklab/workloads/history"
)

// cluster is the nodes and links of one run.
type cluster struct {
	fleet *fleet
	topo  *topology.Topology           // the plan's
	plan  plan                         // what the nodes are told
	addrs map[string]map[string]string // node -> port -> address that other hosts dial

	followers map[string]*agent.Follower // by host
	recorder  history.Recorder
	logDir    string // where the nodes' logs are kept
	losses    losses
	endWatch  func()
}

// up brings the cluster of one run up, and empties the machines before. Its error is errHostLost if a
// host that the run needs is gone, errGivenUp if a machine is too slow.
func (f *fleet) up(ctx context.Context, p plan, rec history.Recorder, logDir string) (_ *cluster, err error) {
	c := &cluster{fleet: f, topo: p.topo, plan: p, addrs: map[string]map[string]string{}, recorder: rec, logDir: logDir, endWatch: func() {}}
	defer func() {
		if err != nil {
			err = giveUp(c.blameLosses(ctx, err))
			err = errors.Join(err, c.down(ctx))
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
	if err := c.reserve(ctx); err != nil {
		return nil, err
	}
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
		m := c.fleet.machines[h.Name]
		c.followers[h.Name] = m.agent.Follow(ctx, func(e history.Event) error {
			m.clock.shift(&e)
			c.recorder.Record(e)
			return nil
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.keepWatch(ctx)
	}()
	c.endWatch = func() {
		cancel()
		<-watched
	}
}

func (c *cluster) reserve(ctx context.Context) error {
	var mu sync.Mutex
	err := together(c.topo.Nodes(), func(n topology.Placed) error {
		found, err := c.machine(n.Host).agent.Reserve(ctx, n.Name, n.Role)
		mu.Lock()
		defer mu.Unlock()
		c.addrs[n.Name] = found
		return err
	})
	if err != nil {
		return fmt.Errorf("reserve addresses: %w", err)
	}
	return nil
}

func (c *cluster) machine(host string) *machine { return c.fleet.machines[host] }

// connect opens a link for everything that one node dials on another host, and has
// the hosts that are linked probe each other.
func (c *cluster) connect(ctx context.Context) error {
	err := together(c.plan.wires, func(w wire) error {
		addr, err := c.open(ctx, w)
		if err != nil {
			return fmt.Errorf("open link from %s to %s: %w", w.from.Host, w.to.Name, err)
		}
		c.plan.set(w, catalog.Way{Link: addr, To: c.addrs[w.to.Name][w.port]})
		return nil
	})
	if err != nil {
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
	delay, jitter := rtt.OneWay()
	return link.Delay{Base: max(delay-jitter, 0), Jitter: 2 * jitter}
}

func (c *cluster) probe(ctx context.Context) error {
	echo := map[string]string{}
	for _, h := range c.topo.Hosts {
		info, err := c.machine(h.Name).links.Info(ctx)
		if err != nil {
			return fmt.Errorf("ask %s for its echo address: %w", h.Name, err)
		}
		echo[h.Name] = info.Echo
	}
	err := together(c.plan.hostPairs(false), func(pair [2]string) error {
		delay := oneWay(c.topo.Between(pair[0], pair[1]))
		return c.machine(pair[0]).links.Probe(ctx, link.Peer{Host: pair[1], Echo: echo[pair[1]], Up: delay, Down: delay})
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

// down stops the nodes, waits for the last of their events and clears the links. What a lost host can no
// longer do is no error.
func (c *cluster) down(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	c.endWatch()
	c.welcomeBack(ctx)
	// Whoever dials ends first, so that its good-byes still find their servers.
	var errs []error
	for _, stage := range slices.Backward(c.plan.stages()) {
		errs = append(errs, c.stop(ctx, stage))
	}
	errs = append(errs, c.ask(ctx, func(ctx context.Context, m *machine) error {
		f := c.followers[m.Name]
		if f == nil {
			return nil
		}
		err := f.Drain(ctx)
		f.Close()
		return errors.Join(err, f.Err())
	}))
	errs = append(errs, c.ask(ctx, c.recordHand))
	errs = append(errs, c.settleClocks(ctx))
	errs = append(errs, c.ask(ctx, c.keepLogs))
	c.recordLostNodes()
	c.awaitReturn()
	errs = append(errs, c.ask(ctx, func(ctx context.Context, m *machine) error { return m.agent.Reset(ctx) }))
	return errors.Join(errs...)
}

// ask calls do for all machines of the run that are not lost, at once. Each has its
// own time, so that one that does not answer costs the others nothing.
func (c *cluster) ask(ctx context.Context, do func(context.Context, *machine) error) error {
	return c.each(func(m *machine) error {
		if c.losses.has(m.Name) {
			if f := c.followers[m.Name]; f != nil {
				f.Close()
			}
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		return c.tolerate(ctx, m.Name, do(limited, m))
	})
}

// keepLogs writes what the machine's nodes had to say next to the history.
func (c *cluster) keepLogs(ctx context.Context, m *machine) error {
	for _, n := range c.topo.Nodes() {
		if n.Host != m.Name {
			continue
		}
		text, err := m.agent.Log(ctx, n.Name)
		if errors.Is(err, httpapi.ErrNotFound) || (err == nil && text == "") {
			continue // it was never started, or was silent
		}
		if err != nil {
			return fmt.Errorf("read the log of %s: %w", n.Name, err)
		}
		if err := os.MkdirAll(c.logDir, 0o755); err != nil {
			return fmt.Errorf("keep node logs: %w", err)
		}
		if err := os.WriteFile(filepath.Join(c.logDir, n.Name+".log"), []byte(text), 0o644); err != nil { //nolint:gosec // reports are to be read by others
			return fmt.Errorf("keep node logs: %w", err)
		}
	}
	return nil
}

func (c *cluster) stop(ctx context.Context, nodes []topology.Placed) error {
	return together(nodes, func(n topology.Placed) error {
		if c.losses.has(n.Host) {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		err := c.machine(n.Host).agent.Stop(limited, n.Name)
		if errors.Is(err, httpapi.ErrNotFound) || errors.Is(err, httpapi.ErrConflict) {
			return nil // it was never started, or has ended
		}
		return c.tolerate(ctx, n.Host, err)
	})
}

// masterURL is where players and the controller reach a master: directly, no link
// lies between.
func (c *cluster) masterURL(name string) string { return "http://" + c.addrs[name]["http"] }
