package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/chaos/external"
	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/nodes/agent"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// chaosConfig gives the runner the run's hosts and nodes, and the means to break
// them.
func (x *experiment) chaosConfig(c *cluster, rec history.Recorder) chaos.Config {
	config := chaos.DefaultConfig()
	config.Inventory = inventoryOf(c.topo, x.lock)
	config.Links = map[string]chaos.LinkControl{}
	for _, h := range c.topo.Hosts {
		config.Links[h.Name] = linkControl{c, h.Name}
	}
	config.Nodes = nodeControl{c}
	config.Resolver = resolver{c}
	config.External = externalControl{c, x.config.External}
	config.Recorder = rec
	config.Away, config.Lasts = x.lock.Away, x.measures()
	config.Log = x.fleet.log
	return config
}

// linkControl lets the chaos runner change the links of one host. A lost host has
// none that could be healed.
type linkControl struct {
	cluster *cluster
	host    string
}

var _ chaos.LinkControl = linkControl{}

func (l linkControl) links() *link.Client { return l.cluster.machine(l.host).links }

func (l linkControl) Apply(ctx context.Context, i link.Impairment) error {
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	return l.links().Apply(ctx, i)
}

func (l linkControl) Heal(ctx context.Context, id string) (contradicted string, err error) {
	limited, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	contradicted, err = l.links().Heal(limited, id)
	return contradicted, l.cluster.tolerate(l.host, err)
}

func (l linkControl) Probes(ctx context.Context) (link.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	return l.links().Probes(ctx)
}

// nodeControl lets the chaos runner reach nodes through the agents of their hosts.
type nodeControl struct{ cluster *cluster }

var _ chaos.NodeControl = nodeControl{}

// call asks the agent of a node's host for something that takes at most so long.
func (n nodeControl) call(
	ctx context.Context, node string, limit time.Duration, do func(context.Context, *agent.Client) error,
) error {
	placed, _ := n.cluster.topo.Node(node)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx, n.cluster.machine(placed.Host).agent)
}

// heal is tolerant: with its host, what is wrong with a node is gone.
func (n nodeControl) heal(node string, err error) error {
	placed, _ := n.cluster.topo.Node(node)
	return n.cluster.tolerate(placed.Host, err)
}

func (n nodeControl) Kill(ctx context.Context, node string) error {
	return n.call(ctx, node, callTime, func(ctx context.Context, a *agent.Client) error { return a.Kill(ctx, node) })
}

func (n nodeControl) Pause(ctx context.Context, node string) error {
	return n.call(ctx, node, callTime, func(ctx context.Context, a *agent.Client) error { return a.Pause(ctx, node) })
}

func (n nodeControl) PauseAt(ctx context.Context, node, point string, within time.Duration) error {
	return n.call(ctx, node, within+callTime, func(ctx context.Context, a *agent.Client) error {
		return a.PauseAt(ctx, node, point, within)
	})
}

func (n nodeControl) Resume(ctx context.Context, node string) error {
	return n.heal(node, n.call(ctx, node, callTime, func(ctx context.Context, a *agent.Client) error {
		return a.Resume(ctx, node)
	}))
}

func (n nodeControl) Restart(ctx context.Context, node string, wipe bool, delay time.Duration) error {
	return n.call(ctx, node, delay+2*callTime, func(ctx context.Context, a *agent.Client) error {
		return a.Restart(ctx, node, agent.RestartOptions{Wipe: wipe, Delay: delay})
	})
}

func (n nodeControl) SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error {
	return n.call(ctx, node, callTime, func(ctx context.Context, a *agent.Client) error {
		return a.SetClock(ctx, node, process.Skew{Offset: offset, Rate: rate})
	})
}

func (n nodeControl) ClockOffset(ctx context.Context, node string) (offset time.Duration, err error) {
	err = n.call(ctx, node, linkTime, func(ctx context.Context, a *agent.Client) error {
		offset, err = a.NodeClock(ctx, node)
		return err
	})
	return offset, err
}

func (n nodeControl) SetDisk(ctx context.Context, node string, disk fault.Disk) error {
	err := n.call(ctx, node, callTime, func(ctx context.Context, a *agent.Client) error {
		return a.SetDisk(ctx, node, diskfault.Fault(disk))
	})
	if disk == (fault.Disk{}) {
		return n.heal(node, err)
	}
	return err
}

func (n nodeControl) Disk(ctx context.Context, node string) (seen chaos.DiskSeen, err error) {
	err = n.call(ctx, node, linkTime, func(ctx context.Context, a *agent.Client) error {
		s, err := a.Disk(ctx, node)
		seen = chaos.DiskSeen{Disk: fault.Disk(s.Fault), Hit: s.Hit, Done: s.Done, Least: s.Least}
		return err
	})
	return seen, err
}

func (n nodeControl) State(ctx context.Context, node string) (state chaos.NodeState, err error) {
	err = n.call(ctx, node, linkTime, func(ctx context.Context, a *agent.Client) error {
		all, err := a.Nodes(ctx)
		i := slices.IndexFunc(all, func(s agent.NodeStatus) bool { return s.Name == node })
		if err == nil && i < 0 {
			err = fmt.Errorf("the agent does not know node %q", node)
		}
		if err == nil {
			state = chaos.NodeState(all[i].State)
		}
		return err
	})
	return state, err
}

// externalControl lets the chaos runner begin and end what programs of the user
// break, and tells the cluster which hosts will go away because of it.
type externalControl struct {
	cluster  *cluster
	programs external.Programs
}

var _ chaos.External = externalControl{}

func (e externalControl) Start(ctx context.Context, run, hosts []string) error {
	e.cluster.expectLoss(hosts)
	e.cluster.fleet.log.Info("external fault begins", "run", run, "hosts", hosts)
	err := e.programs.Start(ctx, run)
	if err != nil && ctx.Err() == nil {
		e.cluster.fleet.notice(fmt.Sprintf("warning: the external fault %s did not begin: %v", strings.Join(run, " "), err))
	}
	for _, host := range hosts {
		e.cluster.fleet.notice(fmt.Sprintf("host %s is away, as the scenario asks", host))
	}
	return err
}

func (e externalControl) Stop(ctx context.Context, run []string) error {
	e.cluster.fleet.log.Info("external fault is ended", "run", run)
	e.cluster.fleet.notice("ending the external fault " + strings.Join(run, " "))
	return e.programs.Stop(ctx, run)
}
