package check

import (
	"locklab/workloads/loadgen"
)

// timeline is when the parts of the run were, on the clock of the run.
type timeline struct {
	measure int64 // the measured part begins
	drain   int64 // nothing is due any more
	end     int64 // of the history
}

func (c *Checker) timeline() timeline {
	t := timeline{end: c.end, drain: c.end}
	if at, known := c.phases[loadgen.PhaseMeasure]; known {
		t.measure = at
	} else if at, known := c.phases[loadgen.PhaseWarmup]; known && c.run.WarmupNS > 0 {
		t.measure = min(at+c.run.WarmupNS, c.end) // interrupted in the warm-up
	} else {
		t.measure = c.firstOp()
	}
	if at, known := c.phases[loadgen.PhaseDrain]; known {
		t.drain = at
	}
	t.drain = max(t.drain, t.measure)
	return t
}

// firstOp is where a history without phases begins to be measured.
func (c *Checker) firstOp() int64 {
	first := c.end
	c.part().eachOp(func(o *op) { first = min(first, o.from) })
	return first
}

// span is the time [from, to).
type span struct{ from, to int64 }

func (s span) meets(o span) bool { return s.from < o.to && o.from < s.to }
