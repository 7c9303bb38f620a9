package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/workloads/capacity"
	"locklab/workloads/history"
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

// The search for the most matches per second: steps of players on the running cluster, each at a
// rate of its own, doubled until one fails and then bisected.
const (
	firstStep, leastStep, mostStep = 500.0, 25.0, 50_000.0 // per second
	stepWithin                     = 1.1                   // of the highest rate that passed and the lowest that did not
	stepWarmup, stepDuration       = time.Second, 2 * time.Second
)

// aboutThroughput is how long the search takes, roughly.
const aboutThroughput = 8 * (stepWarmup + stepDuration + time.Second)

// measureThroughput records how requests fare at each rate: measure finds the highest that passes.
func (x *experiment) measureThroughput(ctx context.Context, c *cluster) error {
	steps := 0
	try := func(perS float64) (passed, late bool, err error) {
		about := x.config.aboutRun(x.lock, x.scenario) - aboutThroughput
		x.display.Advance(about, fmt.Sprintf("offering %.0f matches/s", perS))
		steps++
		name := fmt.Sprintf("step%d", steps)
		s := &step{out: c.recorder}
		start := clock.Mono() + int64(lead)
		run := x.load(c, s, start)
		run.Rate, run.Warmup, run.Duration = perS, stepWarmup, stepDuration
		run.Players, run.Seed = name+"-p", x.seed().Child(name)
		clients, err := x.config.Load.Begin(run)
		if err == nil {
			err = clients.Run(ctx)
		}
		if err != nil {
			return false, false, err
		}
		passed, late = s.ended(start+int64(stepWarmup), start+int64(stepWarmup+stepDuration), start)
		return passed, late, ctx.Err()
	}
	return highest(func(perS float64) (bool, error) {
		passed, late, err := try(perS)
		if late && err == nil { // that is not the lock's doing
			passed, _, err = try(perS)
		}
		return passed, err
	})
}

// highest looks for the highest rate that passes. What it finds is on record.
func highest(passes func(perS float64) (bool, error)) error {
	low, high := 0.0, 0.0 // the highest that passed, the lowest that did not; 0 is none yet
	for rate := firstStep; rate >= leastStep && rate <= mostStep; {
		passed, err := passes(rate)
		if err != nil {
			return err
		}
		if passed {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high == 0:
			rate = 2 * low
		case low == 0:
			rate = high / 2
		case high <= stepWithin*low:
			return nil
		default:
			rate = (low + high) / 2
		}
	}
	return nil
}

// step is the recorder of one rate: its phases are no phases of the run.
type step struct {
	out history.Recorder

	mu      sync.Mutex
	matches []history.Event
}

// Record implements [history.Recorder].
func (s *step) Record(e history.Event) {
	if e.Kind != history.KindMatch {
		return
	}
	s.out.Record(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.matches = append(s.matches, e)
}

// ended records the step, and says whether its requests passed, and whether they were sent late.
func (s *step) ended(from, to, began int64) (passed, wasLate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var took, late []int64
	ok := uint64(0)
	for _, e := range s.matches {
		if e.FromNS < from || e.FromNS >= to {
			continue
		}
		took, late = append(took, e.AtNS-e.FromNS), append(late, max(e.SentNS-e.FromNS, 0))
		if e.Outcome == "ok" {
			ok++
		}
	}
	s.out.Record(history.Event{
		Kind: history.KindCapacity, State: history.CapacityMatches, FromNS: began, SentNS: from, AtNS: to, Count: ok,
	})
	p99 := func(all []int64) int64 {
		slices.Sort(all)
		return all[len(all)*99/100]
	}
	if len(took) == 0 {
		return false, true
	}
	wasLate = p99(late) >= int64(history.MatchesLate)
	return int(ok) == len(took) && p99(took) < int64(history.MatchesP99) && !wasLate, wasLate
}
