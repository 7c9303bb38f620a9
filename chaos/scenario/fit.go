package scenario

import (
	"context"
	"fmt"
	"time"

	"locklab/chaos/fault"
)

// CheckTimes says which fault does not fit into a measured part of that length: what
// is broken after its end, nobody sees.
func (s Scenario) CheckTimes(measured time.Duration) error {
	for _, step := range s.Timeline {
		from := step.At.Of(measured)
		until := from + step.For.Of(measured)
		if from < measured && until <= measured {
			continue
		}
		lasts := "to the end"
		if step.For != (Moment{}) {
			lasts = fmt.Sprintf("for %v", until-from)
		}
		want := fmt.Sprintf("want at least %v, or an earlier and shorter fault", step.needs())
		return fmt.Errorf("%s:%d: fault %s begins at %v and lasts %s, past the end of a run of %v: %s: %w",
			s.File, step.Line, step.ID, from, lasts, measured, want, ErrInvalid)
	}
	return nil
}

// needs is the shortest measured time that the step fits into, in whole tenths of a second.
func (s Step) needs() time.Duration {
	const tenth = 100 * time.Millisecond
	least := time.Duration(float64(s.At.Duration+s.For.Duration) / (1 - (s.At.Percent+s.For.Percent)/100))
	if s.For == (Moment{}) {
		least++ // it must begin before the end
	}
	return (least + tenth - 1).Truncate(tenth)
}

// CheckTargets says which fault has nothing to hit among what runs.
func (s Scenario) CheckTargets(ctx context.Context, inv fault.Inventory, resolver fault.Resolver) error {
	for _, step := range s.Timeline {
		if _, err := fault.Make(ctx, step.ID, step.Fault, inv, resolver); err != nil {
			return fmt.Errorf("%s:%d: fault %s on %s: %w: %w", s.File, step.Line, step.ID, step.Fault.Describe(), err, ErrInvalid)
		}
	}
	return nil
}
