package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks/clock"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/history"
)

// Servers that start slowly serve one run after the other, where nothing can have harmed them.
// After a run they stay up, with the links between them, if its scenario left them alone and
// nothing happened to them. The next run goes on with them if it wants them as they were
// started, each is as a new one would be, and no link is impaired; otherwise all begin anew. It
// has other names for its resources, so that what the run before held is nothing to it.

// shares says whether the lock's servers can serve one run after another.
func shares(lock catalog.Lock) bool {
	return len(lock.Servers) > 0 && !slices.ContainsFunc(lock.Servers, func(s catalog.Server) bool { return s.Serves == nil || len(s.Dials) > 0 })
}

// servers names the servers that a run needs, and those that it leaves to the next one; "" are
// none that can be shared.
func (c *Config) servers(lock catalog.Lock, s scenario.Scenario) (needs, leaves string) {
	if !shares(lock) {
		return "", ""
	}
	o := c.outlook(lock, s)
	needs = fmt.Sprintln(roles(lock), o.clocks, o.calls)
	if o.gentle {
		leaves = needs
	}
	return needs, leaves
}

// roles are those of the lock's servers.
func roles(lock catalog.Lock) string {
	var names []string
	for _, s := range lock.Servers {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// eachFit passes on the combinations that apply, in the order of their runs. A scenario is run
// with all locks before the next, so that what is compared was measured close together. In a
// suite, which asks what each does, locks that can share servers come one after the other.
func (c *Config) eachFit(do func(catalog.Lock, scenario.Scenario) bool) {
	for _, group := range c.groups() {
		for _, s := range c.Scenarios {
			for _, lock := range group {
				if c.fits(lock, s) && !do(lock, s) {
					return
				}
			}
		}
	}
}

func (c *Config) groups() [][]catalog.Lock {
	if !c.Suite {
		return [][]catalog.Lock{c.Locks}
	}
	groups, at := make([][]catalog.Lock, 1), map[string]int{}
	for _, lock := range c.Locks {
		group := 0
		if shares(lock) {
			if group = at[roles(lock)]; group == 0 {
				group, groups = len(groups), append(groups, nil)
				at[roles(lock)] = group
			}
		}
		groups[group] = append(groups[group], lock)
	}
	return groups
}

// isServer says whether a node is one of the lock's servers.
func (p plan) isServer(n topology.Placed) bool { return n.Role != role.Master && n.Role != role.Worker }

// servers are those of the run.
func (c *cluster) servers() []topology.Placed {
	return slices.DeleteFunc(c.topo.Nodes(), func(n topology.Placed) bool { return !c.plan.isServer(n) })
}

// names are those of the servers; a nil cluster has none.
func (c *cluster) names() (names []string) {
	if c == nil {
		return nil
	}
	for _, n := range c.servers() {
		names = append(names, n.Name)
	}
	return names
}

// notice looks for what happens to servers.
func (c *cluster) notice(e history.Event) {
	if e.Kind != history.KindNode || e.State == history.NodeStarted || e.State == history.NodeReady {
		return
	}
	if n, _ := c.topo.Node(e.Node); c.plan.isServer(n) {
		c.touched.Store(true)
	}
}

// leave leaves the servers to the next run, and nothing else.
func (c *cluster) leave(ctx context.Context) error {
	err := c.ask(ctx, func(ctx context.Context, m *machine) error { return m.agent.Reset(ctx, c.names()...) })
	if err != nil {
		return err
	}
	c.recordServers(history.NodeLeft)
	c.shared, c.said, c.fleet.idle = nil, nil, c
	return nil
}

// recordServers says of each server that it ran before the run, or goes on after it.
func (c *cluster) recordServers(state string) {
	for _, n := range c.servers() {
		c.recorder.Record(history.Event{Kind: history.KindNode, AtNS: clock.Mono(), Host: n.Host, Node: n.Name, State: state})
	}
}

// takeOver is the cluster of the run before, if this run can go on with its servers; nil if
// not: then none of them is left.
func (f *fleet) takeOver(ctx context.Context, p plan) *cluster {
	c := f.idle
	f.idle = nil
	if c == nil {
		return nil
	}
	if c.suits(p) {
		err := c.healthy(ctx)
		if err == nil {
			return c
		}
		f.log.Warn("the servers of the run before are not as new ones", "error", err)
	}
	err := c.each(func(m *machine) error {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		return m.agent.Reset(ctx)
	})
	if err != nil { // the hosts that are needed are emptied again, and missed then
		f.log.Warn("the servers of the run before could not be ended", "error", err)
	}
	return nil
}

// suits says whether the servers are those that a run needs, as it would start them.
func (c *cluster) suits(p plan) bool {
	for w, way := range c.plan.ways.way {
		p.set(w, way) // until the run opens its own
	}
	var servers []topology.Placed
	for _, n := range p.topo.Nodes() {
		if p.isServer(n) {
			servers = append(servers, n)
		}
	}
	return slices.EqualFunc(c.servers(), servers, func(is, want topology.Placed) bool {
		has, err1 := c.plan.spec(is)
		wants, err2 := p.spec(want)
		return errors.Join(err1, err2) == nil && is == want && bytes.Equal(has.Settings, wants.Settings) && has.FakeClock == wants.FakeClock && has.Disk == wants.Disk
	})
}

// serveTime is how long a server may take to say that it serves.
const serveTime = 2 * time.Second

// healthy says what keeps the servers from being as new ones.
func (c *cluster) healthy(ctx context.Context) error {
	err := c.each(func(m *machine) error {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		links, err := m.links.Opened(ctx)
		for _, l := range links {
			if len(l.Active) > 0 {
				return fmt.Errorf("host %s: the link %s is impaired", m.Name, l.Name)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return together(c.servers(), func(n topology.Placed) error {
		if state, err := (nodeControl{c}).State(ctx, n.Name); err != nil || state != "ready" {
			return fmt.Errorf("%s is %s: %w", n.Name, state, errors.Join(err, errTouched))
		}
		i := slices.IndexFunc(c.plan.lock.Servers, func(s catalog.Server) bool { return s.Name == n.Role })
		ctx, cancel := context.WithTimeout(ctx, serveTime)
		defer cancel()
		server := c.plan.lock.Servers[i]
		if err := server.Serves(ctx, c.addrs[n.Name][server.ClientPort]); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		return nil
	})
}

var errTouched = errors.New("want one that is ready")

// beginShared says of servers that go on that they do, and reads what they have said so far.
func (c *cluster) beginShared(ctx context.Context) error {
	if c.shared == nil {
		return nil
	}
	c.recordServers(history.NodeShared)
	c.said = map[string]string{}
	var mu sync.Mutex
	return together(c.servers(), func(n topology.Placed) error {
		text, err := c.machine(n.Host).agent.Log(ctx, n.Name)
		mu.Lock()
		defer mu.Unlock()
		c.said[n.Name] = text
		return err
	})
}
