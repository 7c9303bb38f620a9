package cluster

import (
	"context"
	"fmt"
	"strings"

	"locklab/chaos"
	"locklab/chaos/external"
	"locklab/chaos/link"
	"locklab/internal/damage"
	"locklab/nodes/agent"
)

// Chaos configures the chaos runner for this run. The caller adds the inventory and the measured time.
func (c *Cluster) Chaos(programs external.Programs) chaos.Config {
	config := chaos.DefaultConfig()
	config.Links, config.Nodes = map[string]chaos.LinkControl{}, map[string]chaos.NodeControl{}
	for _, h := range c.layout.Topology.Hosts {
		m := c.machine(h.Name)
		config.Links[h.Name] = linkControl{m.links, c, h.Name}
		for _, n := range h.Nodes {
			config.Nodes[n.Name] = nodeControl{m.agent, c, h.Name}
		}
	}
	config.Resolver, config.External = resolver{c}, externalControl{c, programs}
	config.Recorder, config.Log, config.Away = c.recorder, c.fleet.Log, c.layout.lock.Away
	return config
}

// linkControl lets the chaos runner change the links of one host. A stopped host has none to heal.
type linkControl struct {
	*link.Client
	cluster *Cluster
	host    string
}

func (l linkControl) Heal(ctx context.Context, id string) (contradicted string, err error) {
	contradicted, err = l.Client.Heal(ctx, id)
	return contradicted, l.cluster.tolerate(l.host, err)
}

// nodeControl lets the chaos runner reach the nodes of one host. Their faults end with a host that went away.
type nodeControl struct {
	*agent.Client
	cluster *Cluster
	host    string
}

var _ chaos.NodeControl = nodeControl{}

func (n nodeControl) Resume(ctx context.Context, node string) error {
	return n.cluster.tolerate(n.host, n.Client.Resume(ctx, node))
}

func (n nodeControl) SetDisk(ctx context.Context, node string, disk damage.Disk) error {
	err := n.Client.SetDisk(ctx, node, disk)
	if disk == (damage.Disk{}) {
		return n.cluster.tolerate(n.host, err)
	}
	return err
}

// externalControl lets the chaos runner run the user's programs, and notes which hosts they stop.
type externalControl struct {
	cluster  *Cluster
	programs external.Programs
}

var _ chaos.External = externalControl{}

func (e externalControl) Start(ctx context.Context, run, hosts []string) error {
	e.cluster.expectLoss(hosts)
	e.cluster.fleet.Log.Info("external fault begins", "run", run, "hosts", hosts)
	err := e.programs.Start(ctx, run)
	if err != nil && ctx.Err() == nil {
		e.cluster.fleet.Notice(fmt.Sprintf("warning: the external fault %s did not begin: %v", strings.Join(run, " "), err))
	}
	for _, host := range hosts {
		e.cluster.fleet.Notice(fmt.Sprintf("host %s is away, as the scenario asks", host))
	}
	return err
}

func (e externalControl) Stop(ctx context.Context, run []string) error {
	e.cluster.fleet.Log.Info("external fault is ended", "run", run)
	e.cluster.fleet.Notice("ending the external fault " + strings.Join(run, " "))
	return e.programs.Stop(ctx, run)
}
