package lab

import (
	"time"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/workloads/history"
)

// expected converts an expectation of the rules into the form of histories.
func expected(s scenario.Scenario, e scenario.Expectation) *history.Expect {
	want := &history.Expect{Safety: e.Safety, Liveness: e.Liveness}
	if len(s.Timeline) == 0 {
		want.Availability.Outside = e.Served
	} else {
		want.Availability.During = e.Served
	}
	return want
}

// Expected is the expectation for a lock under a scenario in a topology, with its rules; unfit is why the
// scenario does not apply.
func Expected(nameOrPath, place string, lock catalog.Lock) (e scenario.Expectation, unfit, err error) {
	c := Config{Duration: DefaultDuration}
	if err := c.UseTopology(place, ""); err != nil {
		return e, nil, err
	}
	s, err := scenario.Load(nameOrPath, c.Topology.Zones[0].Short)
	if err != nil {
		return e, nil, err
	}
	c.Duration = max(c.Duration, s.MinDuration)
	o := c.outlook(lock, s)
	if o.expect.SafetyBy.Safety == "" { // else only this machine or this duration does not fit
		return e, o.unfit, nil
	}
	return o.expect, nil, nil
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
