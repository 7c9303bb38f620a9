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

// isDisturbed says whether a host was lost before any violation was seen: what
// follows then says nothing about what the scenario expects.
func (f *Findings) isDisturbed() bool {
	losses := f.Losses()
	if len(losses) == 0 {
		return false
	}
	first := losses[0].BeganNS
	for _, l := range losses {
		first = min(first, l.BeganNS)
	}
	for _, e := range f.Examples {
		if e.What != unreachable.String() && e.AtNS < first {
			return false
		}
	}
	return true
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
