package lab

import (
	"time"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// expected is what the scenario says of the lock; empty if it says nothing.
func expected(s scenario.Scenario, topology string, lock catalog.Lock) *history.Expect {
	said, named := s.Expect(lock.Spec, topology)
	if !named && lock.Program {
		return expectedOfAny(s)
	}
	return &history.Expect{Safety: said.Safety, Liveness: said.Liveness, Availability: history.Availability{
		Outside: deref(said.Outside), During: deref(said.During),
	}}
}

// expectedOfAny is what every lock promises, for one that the user brings and the scenario
// does not know: safety, service where nothing is broken, and no word of what it does
// during a fault.
func expectedOfAny(s scenario.Scenario) *history.Expect {
	want := &history.Expect{Safety: result.Safe, Availability: history.Availability{Outside: scenario.DefaultOutside}}
	if len(s.Timeline) == 0 {
		want.Liveness = []string{result.Live}
	}
	return want
}

func deref(share *float64) float64 {
	if share == nil {
		return 0
	}
	return *share
}

// planned are the faults that the scenario asks for in a run that measures for so long.
func planned(s scenario.Scenario, measured time.Duration) []history.Planned {
	var all []history.Planned
	for _, p := range s.Schedule(measured) {
		all = append(all, history.Planned{
			ID: p.ID, Fault: p.Step.Fault.Kind, Target: p.Step.Fault.Target,
			AtNS: int64(p.Window.From), ForNS: int64(p.Window.Until - p.Window.From),
		})
	}
	return all
}
