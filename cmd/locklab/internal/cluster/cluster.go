package cluster

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
	"locklab/locks/clock"
	"locklab/nodes/agent"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// Cluster is the nodes and links of one run.
type Cluster struct {
	fleet  *Fleet
	layout Layout                       // what the nodes are told
	addrs  map[string]map[string]string // node -> port -> address that other hosts dial

	followers map[string]*agent.Follower // by host
	recorder  history.Recorder
	logDir    string           // where the nodes' logs are kept
	stopped   sync.Map         // host -> when a fault of the scenario began to stop it, on clock.Mono
	lost      map[string]int64 // host -> when it went, of those that were not back when the run ended
}

// Up empties the machines and brings a cluster up. Its error is ErrGivenUp if a host is gone or too slow.
func (f *Fleet) Up(ctx context.Context, l Layout, rec history.Recorder, logDir string) (_ *Cluster, err error) {
	c := &Cluster{fleet: f, layout: l, recorder: rec, logDir: logDir}
	defer func() {
		if err != nil {
			err = errors.Join(GiveUp(err), c.Down(ctx))
		}
	}()
	if err := c.each(func(m *machine) error {
		if m.returning {
			f.Notice("waiting for host " + m.Name + " to come back")
		}
		return m.enlist(ctx)
	}); err != nil {
		return nil, fmt.Errorf("empty the hosts: %w", err)
	}
	c.follow(ctx)
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	for _, stage := range l.stages() {
		if err := c.start(ctx, stage); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// each calls do for all machines of the run at once.
func (c *Cluster) each(do func(*machine) error) error {
	return together(c.layout.Topology.Hosts, func(h topology.Host) error { return do(c.machine(h.Name)) })
}

// follow records the events of the hosts, on the controller's clock.
func (c *Cluster) follow(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // what an interrupted run did is evidence too
	c.followers = map[string]*agent.Follower{}
	for _, h := range c.layout.Topology.Hosts {
		m := c.machine(h.Name)
		c.followers[h.Name] = m.agent.Follow(ctx, func(e history.Event) error {
			m.clock.shift(&e)
			c.recorder.Record(e)
			return nil
		})
	}
}

func (c *Cluster) machine(host string) *machine { return c.fleet.machines[host] }

// connect reserves the nodes' addresses, opens the links between them, and has linked hosts probe each other.
func (c *Cluster) connect(ctx context.Context) error {
	var mu sync.Mutex
	c.addrs = map[string]map[string]string{}
	if err := together(c.layout.Topology.Nodes(), func(n topology.Placed) error {
		found, err := c.machine(n.Host).agent.Reserve(ctx, n.Name, n.Role)
		mu.Lock()
		defer mu.Unlock()
		c.addrs[n.Name] = found
		return err
	}); err != nil {
		return fmt.Errorf("reserve addresses: %w", err)
	}
	if err := together(c.layout.wires, func(w wire) error {
		addr, err := c.open(ctx, w)
		if err != nil {
			return fmt.Errorf("open link from %s to %s: %w", w.from.Host, w.to.Name, err)
		}
		c.layout.ways.Store(w, catalog.Way{Link: addr, To: c.addrs[w.to.Name][w.port]})
		return nil
	}); err != nil {
		return err
	}
	return c.probe(ctx)
}

func (c *Cluster) open(ctx context.Context, w wire) (string, error) {
	upstream := c.addrs[w.to.Name][w.port]
	if w.from.Host == w.to.Host && !w.aliased {
		return upstream, nil // not a link: nothing lies between
	}
	delay := oneWay(c.layout.Topology.Between(w.from.Host, w.to.Host))
	spec := link.Spec{
		Name: w.to.Name + "/" + w.port, ToHost: w.to.Host, ToNode: w.to.Name,
		Upstream: upstream, Up: delay, Down: delay,
	}
	if w.aliased {
		spec = c.layout.atAlias(w, spec)
	}
	return c.machine(w.from.Host).links.Open(ctx, spec)
}

// oneWay is the latency of one direction: half of a round trip, give or take half of its jitter.
func oneWay(rtt topology.RTT) link.Latency {
	return link.Latency{Delay: max(rtt.RTT/2-rtt.Jitter/2, 0), Jitter: rtt.Jitter}
}

func (c *Cluster) probe(ctx context.Context) error {
	err := together(c.layout.HostPairs(), func(pair [2]string) error {
		report, err := c.machine(pair[1]).links.Probes(ctx)
		if err != nil {
			return err
		}
		delay := oneWay(c.layout.Topology.Between(pair[0], pair[1]))
		spec := link.Spec{Name: "probe " + pair[1], ToHost: pair[1], Upstream: report.Echo, Up: delay, Down: delay}
		_, err = c.machine(pair[0]).links.Open(ctx, spec)
		return err
	})
	if err != nil {
		return fmt.Errorf("start probes: %w", err)
	}
	return nil
}

func (c *Cluster) start(ctx context.Context, nodes []topology.Placed) error {
	return together(nodes, func(n topology.Placed) error {
		spec, err := c.layout.spec(n)
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

// Down stops the nodes, waits for their last events and clears the links. A lost host is no error.
func (c *Cluster) Down(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	c.findLost(ctx)
	// Nodes that dial end first, so that their good-byes still find their servers.
	var errs []error
	for _, stage := range slices.Backward(c.layout.stages()) {
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
func (c *Cluster) ask(ctx context.Context, do func(context.Context, *machine) error) error {
	return c.each(func(m *machine) error {
		if _, lost := c.lost[m.Name]; lost {
			return nil
		}
		return c.tolerate(m.Name, do(ctx, m))
	})
}

// keepLogs writes the logs of the machine's nodes next to the history.
func (c *Cluster) keepLogs(ctx context.Context, m *machine) error {
	host, _ := c.layout.Topology.Host(m.Name)
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

func (c *Cluster) stop(ctx context.Context, nodes []topology.Placed) error {
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

// masterURL is where players and the controller reach a master: over no link.
func (c *Cluster) masterURL(name string) string {
	return "http://" + c.addrs[name][catalog.PortHTTP]
}

// Masters are the masters, as players and the controller reach them.
func (c *Cluster) Masters() (all []loadgen.Master) {
	for _, m := range c.layout.Topology.NodesOf(role.Master) {
		all = append(all, loadgen.Master{Name: m.Name, URL: c.masterURL(m.Name), Token: c.layout.token})
	}
	return all
}

// The clocks of other machines are read when a run begins, to convert events, and when it ends, to record how far each
// host's times may be off, drift included.

const (
	// clockRoundTrips is how often a clock is read: the fastest answer tells most.
	clockRoundTrips = 20
	// tolerance is how much a clock gains or loses at most per second where that was not measured: the bound of Linux
	// (MAXFREQ, 500 ppm).
	tolerance = 500 * time.Microsecond
)

// hostClock is the offset of a host's clock to the controller's in one run.
type hostClock struct {
	agent.Offset
	readNS int64 // when, on clock.Mono
}

// shift moves an event to the controller's clock.
func (h hostClock) shift(e *history.Event) {
	for _, t := range []*int64{&e.AtNS, &e.FromNS, &e.SentNS} {
		if *t != 0 {
			*t += int64(h.Add)
		}
	}
	e.ErrNS = int64(h.Error)
}

// boundAtEnd bounds the error of times converted with this reading, given one at the end of the run: a clock that
// drifts one way is furthest off then.
func (h hostClock) boundAtEnd(end agent.Offset) time.Duration {
	return max(h.Error, (end.Add-h.Add).Abs()+end.Error)
}

// boundUnread is the same for a clock that could not be read again and was last heard at a moment.
func (h hostClock) boundUnread(heardNS int64) time.Duration {
	return h.Error + time.Duration(time.Duration(max(heardNS-h.readNS, 0)).Seconds()*float64(tolerance))
}

// settleClocks reads the clocks again and records how far the times of each host may be off.
func (c *Cluster) settleClocks(ctx context.Context) error {
	return c.each(func(m *machine) error {
		if m.local != nil || m.clock.readNS == 0 {
			return nil
		}
		at, lost := c.lost[m.Name]
		bound := m.clock.boundUnread(at)
		if !lost {
			end, err := m.agent.ClockOffset(ctx, clockRoundTrips)
			if err != nil {
				return c.tolerate(m.Name, fmt.Errorf("host %s: read its clock: %w", m.Name, err))
			}
			bound = m.clock.boundAtEnd(end)
		}
		c.recorder.Record(history.Event{Kind: history.KindClock, AtNS: clock.Mono(), Host: m.Name, ErrNS: int64(bound)})
		c.fleet.Log.Info("clock of a host", "host", m.Name, "offset", m.clock.Add, "error", bound)
		return nil
	})
}

// recordHand records what was done to the machine's links by hand.
func (c *Cluster) recordHand(ctx context.Context, m *machine) error {
	all, err := m.links.Hand(ctx)
	if err != nil {
		return fmt.Errorf("ask %s what was done to its links by hand: %w", m.Name, err)
	}
	for n, done := range all {
		i := done.Impairment
		e := history.Event{
			Kind: history.KindFault, ID: fmt.Sprintf("hand/%s/%d", m.Name, n+1), Fault: history.FaultByHand,
			Target: fmt.Sprintf("link %s to %s (%s)", m.Name, i.Link, done.What()), From: []string{m.Name},
		}
		if done.ToHost != "" {
			e.To = []string{done.ToHost}
		}
		for state, at := range map[string]int64{history.FaultBegan: done.BeganNS, history.FaultEnded: done.EndedNS} {
			if at == 0 {
				continue // it was in force to the end
			}
			own := e
			own.State, own.AtNS = state, at
			m.clock.shift(&own)
			c.recorder.Record(own)
		}
	}
	return nil
}

// A run is given up if a host elsewhere goes away: its container is killed, its machine dies, its agent starts anew. If
// the scenario wanted that (an external fault that stops hosts) it is a fault like others, and the run is judged: the
// host's nodes die and stay away, as a new agent has forgotten them. The next run waits for the host.

// expectLoss marks hosts that the scenario stops from now on.
func (c *Cluster) expectLoss(hosts []string) {
	for _, host := range hosts {
		c.stopped.Store(host, clock.Mono())
	}
}

// tolerate drops the error of a call to a host that the scenario has stopped.
func (c *Cluster) tolerate(host string, err error) error {
	if _, stopped := c.stopped.Load(host); err == nil || !stopped {
		return err
	}
	c.fleet.Log.Info("a stopped host did not do as asked", "host", host, "error", err)
	return nil
}

// WatchHosts ends the run early if the events of a host are lost that the scenario did not stop.
func (c *Cluster) WatchHosts(done context.Context, run *errgroup.Group) {
	for host, f := range c.followers {
		run.Go(func() error {
			select {
			case <-f.Done():
			case <-done.Done():
			}
			if err := c.tolerate(host, f.Err()); err != nil {
				return fmt.Errorf("host %s: %w", host, err)
			}
			return nil
		})
	}
}

// findLost finds hosts that the scenario stopped, and that are still away or have forgotten the run.
func (c *Cluster) findLost(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	c.lost = map[string]int64{}
	c.stopped.Range(func(key, at any) bool {
		host := key.(string)
		m, f := c.machine(host), c.followers[host]
		if health, err := m.agent.Health(ctx); f != nil && (err != nil || health.Instance != m.instance) {
			c.lost[host] = max(at.(int64), f.Heard())
			m.returning = true
			f.Close()
		}
		return true
	})
}

// recordLost notes that the nodes of the lost hosts went with them.
func (c *Cluster) recordLost() {
	for _, n := range c.layout.Topology.Nodes() {
		if at, lost := c.lost[n.Host]; lost {
			c.recorder.Record(history.Event{
				Kind: history.KindNode, AtNS: at, FromNS: at, Host: n.Host, Node: n.Name, State: history.NodeLost,
			})
		}
	}
}
