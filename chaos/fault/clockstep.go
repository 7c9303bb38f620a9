package fault

import (
	"context"
	"time"
)

const (
	// leastStep is the least by which a clock is set: what a proof can tell from the time
	// that it takes to read one.
	leastStep = time.Second
	mostStep  = 24 * time.Hour
)

// ClockStep sets the wall clocks of processes forward or back, as an administrator does, or
// NTP after a long time without a server. It is set right when it is healed.
func (kinds) ClockStep() Kind {
	return Kind{
		Name:    "clock-step",
		Summary: "wall clocks of processes jump, and back when the fault ends",
		Fields:  []Field{hits("role:redis"), {"by", "1m", "how far, or -1m for back: 1s to 24h", true}},
		read: func(f fields) Fault {
			target, by := f.target(), f.need("by")
			step, err := time.ParseDuration(by.Text())
			if by.Given() && (err != nil || step.Abs() < leastStep || step.Abs() > mostStep) {
				by.Fail("%q: want a duration of at least %v, up to %v, forward or back, such as 1m or -1m", by.Text(), leastStep,
					mostStep)
			}
			return onClocks(target, func(p *Plan) { p.Step = step })
		},
	}
}

// onClocks makes the clocks of what the target means wrong.
func onClocks(target selector, wrong func(*Plan)) Fault {
	fault := onNodes(target, nil, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
		p.Clocks, err = sc.nodes(ctx, target)
		wrong(&p)
		return p, err
	})
	fault.Prepared = true
	return fault
}
