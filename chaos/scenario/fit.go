package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/chaos/fault"
)

// CheckTimes says which fault does not fit into a measured part of that length, or is
// there for less of it than a proof takes: what is broken after the end, or for an
// instant, nobody sees.
func (s Scenario) CheckTimes(measured time.Duration) error {
	for _, step := range s.Timeline {
		from, lasts := step.At.Of(measured), step.For.Of(measured)
		in, field := measured-from, "at"
		if step.For != (Moment{}) {
			in, field = lasts, "for"
		}
		var wrong string
		switch {
		case from >= measured && field == "at":
			wrong = fmt.Sprintf("fault %s begins at %v and lasts to the end, past the end of a run of %v: want at least %v, "+
				"or an earlier and shorter fault",
				step.ID, from, measured, step.needs())
		case from+lasts > measured:
			wrong = fmt.Sprintf("fault %s begins at %v and lasts for %v, past the end of a run of %v: want at least %v, or "+
				"an earlier and shorter fault",
				step.ID, from, lasts, measured, step.needs())
		case in+rounding < fault.LeastTime:
			wrong = fmt.Sprintf("%s: fault %s is on for %v of a run of %v, which is too short to be proven: want at least %v "+
				"of it, or runs of at least %v",
				field, step.ID, in, measured, fault.LeastTime, step.needs())
		default:
			continue
		}
		return fmt.Errorf("%s:%d: %s: %w", s.File, step.Line, wrong, ErrInvalid)
	}
	return nil
}

// CheckLease says which fault does not outlast a lease, of a measured part of that length, where
// all must. A lock without leases has one of 0.
func (s Scenario) CheckLease(measured, lease time.Duration, lock string) error {
	for _, step := range s.Timeline {
		w := step.Window(measured)
		lasts := w.Until - w.From
		if !s.OutlastsLease || lasts > lease {
			continue
		}
		if step.For.Percent == 0 && step.For.Duration > 0 {
			return fmt.Errorf("%s:%d: fault %s lasts for %v, and a lease of %s for %v: want it to last for longer, or a "+
				"shorter lease: %w", s.File, step.Line, step.ID, lasts, lock, lease, ErrInvalid)
		}
		missing := time.Duration(float64(lease-lasts) * float64(measured) / float64(lasts))
		return fmt.Errorf("%s:%d: fault %s lasts for %v of a run of %v, and a lease of %s for %v: want runs of more than "+
			"%v, or a shorter lease: %w",
			s.File, step.Line, step.ID, lasts, measured, lock, lease, (measured + missing + tenth).Truncate(tenth), ErrInvalid)
	}
	return nil
}

// rounding is what shares of a duration may lack, and tenth what is asked for in whole ones.
const (
	rounding = time.Microsecond
	tenth    = 100 * time.Millisecond
)

// needs is the shortest measured time that the step fits into and is long enough in, in
// whole tenths of a second.
func (s Step) needs() time.Duration {
	fixed, share := s.At.Duration+s.For.Duration, (s.At.Percent+s.For.Percent)/100
	if s.For == (Moment{}) {
		fixed += fault.LeastTime
	}
	var least float64
	if fixed > 0 {
		least = float64(fixed) / (1 - share)
	}
	if s.For.Percent > 0 {
		least = max(least, float64(fault.LeastTime)*100/s.For.Percent)
	}
	return (time.Duration(least-float64(rounding)) + tenth - 1).Truncate(tenth)
}

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

// CheckOverlaps says which faults have the clock, the disk or the process of one node in their hands at the same
// time, in a measured part of that length: the later one would undo the other. Who is hit by a
// selector that is looked up when the fault begins, the run sees.
func (s Scenario) CheckOverlaps(measured time.Duration, plans []Planned) error {
	type claim struct {
		Scheduled
		alone []string
	}
	var claims []claim
	for _, now := range s.Schedule(measured) {
		i := slices.IndexFunc(plans, func(p Planned) bool { return p.Step.ID == now.Step.ID })
		if now.Step.Fault.Dynamic {
			continue
		}
		alone := plans[i].Alone()
		for _, before := range claims {
			i := slices.IndexFunc(alone, func(thing string) bool { return slices.Contains(before.alone, thing) })
			if i < 0 || now.Window.From+rounding >= before.Window.Until || before.Window.From+rounding >= now.Window.Until {
				continue
			}
			return fmt.Errorf("%s:%d: fault %s on %s breaks %s while fault %s on %s, of line %d, does: want one after the "+
				"other, or targets that share no node: %w",
				s.File, now.Step.Line, now.ID, now.Step.Fault.Target, alone[i], before.ID, before.Step.Fault.Target,
				before.Step.Line, ErrInvalid)
		}
		claims = append(claims, claim{now, alone})
	}
	return nil
}
