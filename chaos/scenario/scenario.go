package scenario

import (
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
	// Title and TitleKO head its column, in English and Korean; without them it is the name.
	Title, TitleKO string
	// MinDuration is the shortest measured time in which it makes sense; 0 is any.
	MinDuration time.Duration
	// OutlastsLease says that it shows something only where each fault lasts for longer than the
	// lock's lease.
	OutlastsLease bool
	// Wants is what clients must do for the scenario to show what it is about.
	Wants    Wants
	Timeline []Step
	// Rules say what is expected: the scenario's own, then the general ones.
	Rules []Rule

	nameLine int
}

// Wants is what a scenario wants of the workload, where the user does not say. What is 0 it
// leaves to the workload, and so do workloads without such a thing.
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

// External are the words of all external faults of the timeline, in its order.
func (s Scenario) External() [][]string {
	var all [][]string
	for _, step := range s.Timeline {
		if len(step.Fault.Run) > 0 {
			all = append(all, step.Fault.Run)
		}
	}
	return all
}

// Moment is a part of the measured time, or a duration.
type Moment struct {
	Percent  float64
	Duration time.Duration
}

// Of is the moment in a run whose measured part takes total.
func (m Moment) Of(total time.Duration) time.Duration {
	return m.Duration + time.Duration(float64(total)*m.Percent/100)
}

// Again has the timeline n times, one after the other, in a run that is n times as long.
func (s Scenario) Again(n int) Scenario {
	once := s.Timeline
	s.Timeline, s.MinDuration = nil, time.Duration(n)*s.MinDuration
	for k := range n {
		for _, step := range once {
			if step.For == (Moment{}) && !step.Fault.Instant {
				step.For = Moment{100 - step.At.Percent, -step.At.Duration} // to the end of its turn
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

// Scheduled is one fault of a run. A step that comes and goes makes several.
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

// CheckLocks says which lock of expect is none: a name that nobody answers to would
// leave the lock that was meant to the general rules. The check is the caller's, who knows all
// locks.
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

// CheckData says which role cannot come back without its data; the check is the caller's,
// who knows the roles.
func (s Scenario) CheckData(check func(role string) error) error {
	for _, step := range s.Timeline {
		for _, role := range step.Fault.LoseData {
			if err := check(role); err != nil {
				return fmt.Errorf("%s:%d: fault %s: lose_data: %w: %w", s.File, step.Line, step.ID, err, ErrInvalid)
			}
		}
	}
	return nil
}
