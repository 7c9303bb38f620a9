package lab

import (
	"time"

	"locklab/chaos/scenario"
	"locklab/locks"
	"locklab/workloads/history"
)

// expected is what the scenario says of the lock; empty if it says nothing.
func expected(s scenario.Scenario, topology string, spec locks.Spec) *history.Expect {
	said, _ := s.Expect(spec, topology)
	return &history.Expect{Safety: said.Safety, Liveness: said.Liveness, Availability: history.Availability{
		Outside: deref(said.Outside), During: deref(said.During),
	}}
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
