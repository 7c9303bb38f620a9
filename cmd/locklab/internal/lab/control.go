package lab

import (
	"cmp"
	"context"
	"fmt"
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
func (x *experiment) chaosConfig(c *cluster) chaos.Config {
	config := chaos.DefaultConfig()
	config.Inventory = inventoryOf(c.topo, x.lock)
	config.Links = map[string]chaos.LinkControl{}
	for _, h := range c.topo.Hosts {
		config.Links[h.Name] = linkControl{c.machine(h.Name).links, c, h.Name}
	}
	config.Nodes = nodeControl{c}
	config.Resolver = resolver{c}
	config.External = externalControl{c, x.config.External}
	config.Recorder = c.recorder
	config.Away, config.Lasts = x.lock.Away, x.measures()
	config.Log = x.fleet.log
	return config
}

// linkControl lets the chaos runner change the links of one host. A host that the scenario has stopped has
// none that could be healed.
type linkControl struct {
	*link.Client
	cluster *cluster
	host    string
}

// Heal implements [chaos.LinkControl].
func (l linkControl) Heal(ctx context.Context, id string) (contradicted string, err error) {
	contradicted, err = l.Client.Heal(ctx, id)
	return contradicted, l.cluster.tolerate(l.host, err)
}

// nodeControl lets the chaos runner reach nodes through the agents of their hosts. A host that went away
// took the faults of its nodes with it.
type nodeControl struct{ cluster *cluster }

var _ chaos.NodeControl = nodeControl{}

func (n nodeControl) host(node string) string {
	placed, _ := n.cluster.topo.Node(node)
	return placed.Host
}

func (n nodeControl) agent(node string) *agent.Client { return n.cluster.machine(n.host(node)).agent }

func (n nodeControl) Kill(ctx context.Context, node string) error {
	return n.agent(node).Kill(ctx, node)
}

func (n nodeControl) CutPower(ctx context.Context, node string, how fault.Power) (history.Lost, error) {
	lost, err := n.agent(node).CutPower(ctx, node, diskfault.Cut(how))
	return history.Lost{Node: node, Bytes: lost.Bytes, Names: lost.Names}, err
}

func (n nodeControl) PauseAt(ctx context.Context, node, point string, within time.Duration) error {
	if point == "" {
		return n.agent(node).Pause(ctx, node)
	}
	return n.agent(node).PauseAt(ctx, node, point, within)
}

func (n nodeControl) Resume(ctx context.Context, node string) error {
	return n.cluster.tolerate(n.host(node), n.agent(node).Resume(ctx, node))
}

func (n nodeControl) Restart(ctx context.Context, node string, wipe bool, delay time.Duration) error {
	return n.agent(node).Restart(ctx, node, agent.RestartOptions{Wipe: wipe, Delay: delay})
}

func (n nodeControl) SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error {
	return n.agent(node).SetClock(ctx, node, process.Skew{Offset: offset, Rate: rate})
}

func (n nodeControl) ClockOffset(ctx context.Context, node string) (time.Duration, error) {
	return n.agent(node).NodeClock(ctx, node)
}

func (n nodeControl) SetDisk(ctx context.Context, node string, disk fault.Disk) error {
	err := n.agent(node).SetDisk(ctx, node, diskfault.Fault(disk))
	if disk == (fault.Disk{}) {
		return n.cluster.tolerate(n.host(node), err)
	}
	return err
}

func (n nodeControl) Disk(ctx context.Context, node string) (chaos.DiskSeen, error) {
	s, err := n.agent(node).Disk(ctx, node)
	return chaos.DiskSeen{Disk: fault.Disk(s.Fault), Hit: s.Hit, Done: s.Done, Least: s.Least}, err
}

func (n nodeControl) State(ctx context.Context, node string) (chaos.NodeState, error) {
	all, err := n.agent(node).Nodes(ctx)
	for _, s := range all {
		if s.Name == node {
			return chaos.NodeState(s.State), err
		}
	}
	return "", cmp.Or(err, fmt.Errorf("the agent does not know node %q", node))
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
