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

// Chaos is what the chaos runner breaks the run with, among it these programs of the user. The caller adds what can be
// hit, and for how long the run is measured.
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

// linkControl lets the chaos runner change the links of one host. A host that the scenario has stopped has
// none that could be healed.
type linkControl struct {
	*link.Client
	cluster *Cluster
	host    string
}

// Heal implements [chaos.LinkControl].
func (l linkControl) Heal(ctx context.Context, id string) (contradicted string, err error) {
	contradicted, err = l.Client.Heal(ctx, id)
	return contradicted, l.cluster.tolerate(l.host, err)
}

// nodeControl lets the chaos runner reach the nodes of one host. A host that went away took the faults of its nodes
// with it.
type nodeControl struct {
	*agent.Client
	cluster *Cluster
	host    string
}

var _ chaos.NodeControl = nodeControl{}

// Resume implements [chaos.NodeControl].
func (n nodeControl) Resume(ctx context.Context, node string) error {
	return n.cluster.tolerate(n.host, n.Client.Resume(ctx, node))
}

// SetDisk implements [chaos.NodeControl].
func (n nodeControl) SetDisk(ctx context.Context, node string, disk damage.Disk) error {
	err := n.Client.SetDisk(ctx, node, disk)
	if disk == (damage.Disk{}) {
		return n.cluster.tolerate(n.host, err)
	}
	return err
}

// externalControl lets the chaos runner begin and end what programs of the user
// break, and tells the cluster which hosts will go away because of it.
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
