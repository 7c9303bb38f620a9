package scenario

import (
	"context"
	"fmt"
	"time"

	"locklab/chaos/fault"
	"locklab/locks"
)

// Scenario is a checked scenario.
type Scenario struct {
	File    string // what errors call it
	Name    string
	Summary string
	// Title and TitleKO are its column's heading, in English and Korean; the default is Name.
	Title, TitleKO string
	// MinDuration is the shortest measured time for which the scenario is meant; 0 is any.
	MinDuration time.Duration
	// OutlastsLease says that each fault must last longer than the lock's lease to show anything.
	OutlastsLease bool
	// Wants is what clients must do for the faults to show an effect.
	Wants    Wants
	Timeline []Step
	// Does is the timeline and Wants as written, in one line: equal for equal runs.
	Does string
	// Rules say what is expected: the scenario's own, then the general ones.
	Rules []Rule

	nameLine int
}

// Wants is what a scenario asks of the workload where the user does not say. The workload decides about zero
// fields, and ignores settings that it does not have.
type Wants struct {
	Hold      time.Duration // for a holder to be hit
	Clients   int           // in each master
	Resources int           // that all of them contend for
}

// Step is one fault of the timeline.
type Step struct {
	Line  int    // where the file has it
	ID    string // unique in the scenario
	At    Moment
	For   Moment // zero: to the end
	Fault fault.Fault
}

// Moment is a share of the measured time, plus a duration.
type Moment struct {
	Percent  float64
	Duration time.Duration
}

// Of is the moment in a run whose measured part takes total.
func (m Moment) Of(total time.Duration) time.Duration {
	return m.Duration + time.Duration(float64(total)*m.Percent/100)
}

// Again repeats the timeline n times, in a run that is n times as long.
func (s Scenario) Again(n int) Scenario {
	once := s.Timeline
	s.Timeline, s.MinDuration = nil, time.Duration(n)*s.MinDuration
	for k := range n {
		for _, step := range once {
			if step.For == (Moment{}) && !step.Fault.Instant {
				step.For = Moment{100 - step.At.Percent, -step.At.Duration} // to the end of its repetition
			}
			step.At.Percent = (step.At.Percent + 100*float64(k)) / float64(n)
			step.For.Percent /= float64(n)
			if k > 0 {
				step.ID = fmt.Sprintf("%s.%d", step.ID, k+1)
			}
			s.Timeline = append(s.Timeline, step)
		}
	}
	return s
}

// Scheduled is one fault of a run; a flap makes several.
type Scheduled struct {
	ID     string // in the ledger
	Step   Step
	Window fault.Window
}

// Schedule lists the faults of a run whose measured part takes total.
func (s Scenario) Schedule(total time.Duration) []Scheduled {
	var all []Scheduled
	for _, step := range s.Timeline {
		whole := step.Window(total)
		windows := step.Fault.Windows(whole.From, whole.Until)
		for n, w := range windows {
			id := step.ID
			if len(windows) > 1 {
				id = fmt.Sprintf("%s#%d", step.ID, n+1)
			}
			all = append(all, Scheduled{id, step, w})
		}
	}
	return all
}

// Window is when the step's fault is on, for a measured part of that length.
func (s Step) Window(total time.Duration) fault.Window {
	from := min(s.At.Of(total), total)
	if s.For == (Moment{}) {
		return fault.Window{From: from, Until: total}
	}
	return fault.Window{From: from, Until: min(from+s.For.Of(total), total)}
}

// CheckLocks passes the locks that rules name to check, and returns its first error. A misspelt name would leave
// the lock to the general rules.
func (s Scenario) CheckLocks(check func(locks.Spec) error) error {
	for _, r := range s.Rules {
		for _, spec := range r.locks {
			if err := check(spec); err != nil {
				return fmt.Errorf("%s:%d: expect: %w: %w", s.File, r.Line, err, ErrInvalid)
			}
		}
	}
	return nil
}

// CheckTimes returns an error for a fault that does not fit into a measured part of that length, or is too short
// to prove.
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

// CheckLease returns an error for a fault that must outlast the lease and does not. A lock without leases has one
// of 0.
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

// rounding is the error allowed for shares of a duration.
const rounding = time.Microsecond

// Planned is a step with its plan for the inventory.
type Planned struct {
	Step Step
	fault.Plan
}

// Plan plans each fault for the inventory. The error names a fault without a target.
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
