package lab

import (
	"locklab/chaos/scenario"
	"locklab/locks"
	"locklab/workloads/check"
)

// expectation is what the scenario says of the lock; empty, which accepts
// everything, if it says nothing.
func expectation(s scenario.Scenario, topology string, spec locks.Spec) check.Expectation {
	said, _ := s.Expect(spec, topology)
	want := check.Expectation{Safety: check.Safety(said.Safety)}
	for _, l := range said.Liveness {
		want.Liveness = append(want.Liveness, check.Liveness(l))
	}
	return want
}

// ScenarioNames lists the built-in scenarios.
func ScenarioNames() []string { return scenario.Names() }
