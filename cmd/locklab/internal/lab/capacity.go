package lab

import (
	"context"
	"time"

	"locklab/nodes/role"
	"locklab/workloads/capacity"
	"locklab/workloads/history"
)

// measuresCapacity says whether the lock's capacity is measured after the run: nothing was
// broken in it, and the lock talks to servers or peers.
func (x *experiment) measuresCapacity(rtt time.Duration) bool {
	return x.config.Capacity && x.play == nil && len(x.scenario.Timeline) == 0 && rtt > 0
}

// aboutCapacity is how long both measurements take.
func aboutCapacity() time.Duration {
	plan := capacity.DefaultPlan()
	return 2 * (plan.Warmup + plan.Duration)
}

// measureCapacity records how many grants a second the lock gives at most, each client with a
// resource of its own, then all with one.
func (x *experiment) measureCapacity(ctx context.Context, c *cluster, rec history.Recorder) error {
	x.display.Advance(x.config.aboutRun(x.lock, x.scenario)-aboutCapacity(), "measuring capacity")
	var masters []capacity.Master
	for _, m := range c.topo.NodesOf(role.Master) {
		masters = append(masters, capacity.Master{Name: m.Name, URL: c.masterURL(m.Name), Token: c.plan.token})
	}
	plan := capacity.DefaultPlan()
	for _, plan.One = range []bool{false, true} {
		e, err := capacity.Measure(ctx, masters, plan)
		if err != nil {
			return err
		}
		rec.Record(e)
	}
	return nil
}
