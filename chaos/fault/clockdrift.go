package fault

import (
	"math"

	"locklab/internal/strictyaml"
)

// What a clock may run at. With less than a tenth too much or too little a proof would take
// longer than [LeastTime] many times over.
const (
	leastDrift = 0.1
	mostRate   = 10
)

// ClockDrift has clocks run fast or slow. They are set right when it is healed.
func (kinds) ClockDrift() Kind {
	return Kind{
		Name:    "clock-drift",
		Summary: "clocks of processes run too fast or too slowly; they are set right when the fault ends",
		Fields:  []Field{hits("role:redis"), {"rate", "1.5", "how fast: 0.1 to 10, and at least 0.1 off 1", true}},
		read: func(f fields) Fault {
			target, rate := f.target(), f.need("rate")
			r, ok := strictyaml.Decimal(rate.Text())
			if rate.Given() && (!ok || r < leastDrift || r > mostRate || math.Abs(r-1) < leastDrift) {
				rate.Fail("%q: want a number from %v to %v that is at least %v off 1, such as 1.5 or 0.5", rate.Text(),
					leastDrift, mostRate, leastDrift)
			}
			return onClocks(target, func(p *Plan) { p.Rate = r })
		},
	}
}
