package check

import (
	"fmt"
	"time"

	"locklab/workloads/history"
)

// Losses lists the hosts that went away although no scenario asks for that: the
// faults of the kind [history.FaultHostLoss].
func (f *Findings) Losses() []Fault {
	var list []Fault
	for _, fault := range f.Faults {
		if fault.Kind == history.FaultHostLoss {
			list = append(list, fault)
		}
	}
	return list
}

// isDisturbed says whether a host was lost, or a fault asked for that was not proven,
// before any violation was seen: what follows then says nothing about what the scenario
// expects, because something else may have happened.
func (f *Findings) isDisturbed() bool {
	first, disturbed := int64(0), false
	for i := range f.Faults {
		fault := &f.Faults[i]
		since := fault.AskedNS
		switch {
		case fault.Kind == history.FaultHostLoss:
			since = fault.BeganNS
		case fault.Proven:
			continue
		}
		if !disturbed || since < first {
			first, disturbed = since, true
		}
	}
	return disturbed && f.FirstViolationNS >= first
}

// lossText says which host was lost; "" if none was.
func (f *Findings) lossText() string {
	losses := f.Losses()
	if len(losses) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s was lost", upper(losses[0].Target))
	if f.MeasuredNS > 0 {
		text += fmt.Sprintf(" at %v", time.Duration(losses[0].BeganNS).Round(10*time.Millisecond))
	}
	if more := len(losses) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	text += ", which no fault of the scenario explains"
	if n, what := f.Violations(); n > 0 {
		text += "; there were " + what
	}
	return text + "."
}
