package scenario

import (
	"context"
	"fmt"
	"time"

	"locklab/chaos/fault"
)

// CheckTimes says which fault does not fit into a measured part of that length, or is
// there for less of it than a proof takes.
func (s Scenario) CheckTimes(measured time.Duration) error {
	for _, step := range s.Timeline {
		from := step.At.Of(measured)
		until := measured
		if step.For != (Moment{}) {
			until = from + step.For.Of(measured)
		}
		if until > measured || until-from+rounding < fault.LeastTime {
			return fmt.Errorf("%s:%d: fault %s is on from %v to %v of a run of %v: want at least %v of it, before the end "+
				"of the run: %w", s.File, step.Line, step.ID, from, until, measured, fault.LeastTime, ErrInvalid)
		}
	}
	return nil
}

// CheckLease says which fault does not outlast a lease, of a measured part of that length, where
// all must. A lock without leases has one of 0.
func (s Scenario) CheckLease(measured, lease time.Duration, lock string) error {
	for _, step := range s.Timeline {
		w := step.Window(measured)
		if lasts := w.Until - w.From; s.OutlastsLease && lasts <= lease {
			return fmt.Errorf("%s:%d: fault %s lasts for %v of a run of %v, and a lease of %s for %v: "+
				"want it to last for longer, a longer run or a shorter lease: %w",
				s.File, step.Line, step.ID, lasts, measured, lock, lease, ErrInvalid)
		}
	}
	return nil
}

// rounding is what shares of a duration may lack.
const rounding = time.Microsecond

// Planned is a step with what it hits among what runs.
type Planned struct {
	Step Step
	fault.Plan
}

// Plan says what each fault hits among what runs. The error says which has nothing to hit.
func (s Scenario) Plan(ctx context.Context, inv fault.Inventory, resolver fault.Resolver) (all []Planned, err error) {
	for _, step := range s.Timeline {
		plan, err := step.Fault.Plan(ctx, step.ID, inv, resolver)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: fault %s on %s: %w: %w", s.File, step.Line, step.ID, step.Fault.Target, err,
				ErrInvalid)
		}
		all = append(all, Planned{step, plan})
	}
	return all, nil
}
