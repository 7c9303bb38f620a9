package lab

import (
	"context"
	"time"

	"locklab/workloads/capacity"
)

// aboutCapacity is how long both measurements take.
func aboutCapacity() time.Duration {
	plan := capacity.DefaultPlan()
	return 2 * (plan.Warmup + plan.Duration)
}

// measureCapacity records how many grants a second the lock gives at most, each client with a
// resource of its own, then all with one.
func (x *experiment) measureCapacity(ctx context.Context, c *cluster) error {
	x.display.Advance(x.config.aboutRun(x.lock, x.scenario)-aboutCapacity(), "measuring capacity")
	plan := capacity.DefaultPlan()
	for _, plan.One = range []bool{false, true} {
		e, err := capacity.Measure(ctx, c.masters(), plan)
		if err != nil {
			return err
		}
		c.recorder.Record(e)
	}
	return nil
}
