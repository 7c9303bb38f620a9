package chaos

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

const (
	// clockMargin is by how much a clock that was read may be off: as long as it takes to read
	// it, on a busy machine.
	clockMargin = 400 * time.Millisecond
	// seenDrift is by how much a clock that drifts must be wrong for that to be seen: it must
	// be wrong by what its rate says, within a half.
	seenDrift = 50 * time.Millisecond
	// clockTries is how often a clock is read that seems to be wrong: one slow answer of a busy
	// machine says nothing.
	clockTries = 3
)

// clocks is what an episode did to clocks.
type clocks struct {
	setNS  atomic.Int64 // when they were set wrong
	margin time.Duration
}

// setClock makes a clock wrong that was right.
func (e *episode) setClock(ctx context.Context, node string) error {
	if err := e.clockIs(ctx, node, func() (time.Duration, time.Duration) { return 0, clockMargin }); err != nil {
		return err
	}
	err := wrap("set the clock of", node, e.config.Nodes.SetClock(ctx, node, e.plan.Step, cmp.Or(e.plan.Rate, 1)))
	e.clocks.setNS.Store(clock.Mono())
	return err
}

// wrongBy is by how much the fault has made clocks wrong by now, and within what that counts
// as seen.
func (e *episode) wrongBy() (off, margin time.Duration) {
	if e.plan.Rate == 0 {
		return e.plan.Step, clockMargin
	}
	off = time.Duration(float64(clock.Mono()-e.clocks.setNS.Load()) * (e.plan.Rate - 1))
	return off, min(off.Abs()/2, clockMargin)
}

// clocksAreWrong says which clock is not wrong as the fault has it.
func (e *episode) clocksAreWrong(ctx context.Context) error {
	if len(e.plan.Clocks) == 0 {
		return nil
	}
	off, margin := e.wrongBy()
	if e.plan.Rate != 0 && off.Abs() < seenDrift {
		return fmt.Errorf("clocks have not drifted by %v yet", seenDrift)
	}
	e.clocks.margin = margin
	return e.eachClock(ctx, e.wrongBy)
}

// clocksAreRight says which clock was not set right.
func (e *episode) clocksAreRight(ctx context.Context) error {
	return e.eachClock(ctx, func() (time.Duration, time.Duration) { return 0, cmp.Or(e.clocks.margin, clockMargin) })
}

func (e *episode) eachClock(ctx context.Context, want func() (off, margin time.Duration)) error {
	return each(e.plan.Clocks, func(node string) error { return e.clockIs(ctx, node, want) })
}

// clockIs says that a clock is not wrong by so much.
func (e *episode) clockIs(ctx context.Context, node string, want func() (off, margin time.Duration)) (err error) {
	for range clockTries {
		var offset time.Duration
		before, _ := want() // it was read at some time between the two
		offset, err = e.config.Nodes.ClockOffset(ctx, node)
		if off, margin := want(); err != nil {
			err = wrap("read the clock of", node, err)
		} else if offset < min(before, off)-margin || offset > max(before, off)+margin {
			err = fmt.Errorf("the clock of node %s is off by %v, not by %v", node, offset.Round(time.Millisecond),
				off.Round(time.Millisecond))
		} else {
			return nil
		}
	}
	return err
}
