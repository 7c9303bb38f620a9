package lab

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/locks/clock"
	"locklab/workloads/history"
)

// A host whose agent runs elsewhere can go away while a run needs it: its container is killed, its machine dies, its
// agent is started anew. Such a run is given up, and decides nothing.
//
// A scenario can also ask for it (an external fault that stops hosts). Then it is a fault like others: the hosts'
// nodes die with them and stay away for the rest of the run, because an agent that was started anew has forgotten
// them, and the run is judged. The next run waits for the hosts.

// askTime is how long an agent may take to answer, tries included.
const askTime = 3 * time.Second

// expectLoss says that the scenario makes hosts go away, from now on.
func (c *cluster) expectLoss(hosts []string) {
	for _, host := range hosts {
		c.stopped.Store(host, clock.Mono())
	}
}

// tolerate drops the error of a call to a host that the scenario has stopped.
func (c *cluster) tolerate(host string, err error) error {
	if _, stopped := c.stopped.Load(host); err == nil || !stopped {
		return err
	}
	c.fleet.log.Info("a stopped host did not do as asked", "host", host, "error", err)
	return nil
}

// watchHosts ends the run early if the events of a host are lost, which the scenario did not stop.
func (c *cluster) watchHosts(done context.Context, run *errgroup.Group) {
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

// findLost finds the hosts that the scenario has stopped and that are still away, or have forgotten the run. Others
// were only out of reach for a while, and have kept what their nodes recorded.
func (c *cluster) findLost(ctx context.Context) {
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
func (c *cluster) recordLost() {
	for _, n := range c.topo.Nodes() {
		if at, lost := c.lost[n.Host]; lost {
			c.recorder.Record(history.Event{
				Kind: history.KindNode, AtNS: at, FromNS: at, Host: n.Host, Node: n.Name, State: history.NodeLost,
			})
		}
	}
}
