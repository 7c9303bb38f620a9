package chaos

import (
	"cmp"
	"context"
	"fmt"
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

// setClocks makes clocks wrong that were right.
func (e *episode) setClocks(ctx context.Context) error {
	if err := e.clocksAreRight(ctx); err != nil {
		return err
	}
	e.clocksSet = clock.Mono()
	return e.onNodes("set the clock of", e.plan.Clocks, func(nodes NodeControl, node string) error {
		return nodes.SetClock(ctx, node, e.plan.Step, cmp.Or(e.plan.Rate, 1))
	})
}

// wrongBy is by how much the fault has made clocks wrong by now, and within what that counts
// as seen.
func (e *episode) wrongBy() (off, margin time.Duration) {
	if e.plan.Rate == 0 {
		return e.plan.Step, clockMargin
	}
	off = time.Duration(float64(clock.Mono()-e.clocksSet) * (e.plan.Rate - 1))
	return off, min(off.Abs()/2, clockMargin)
}

// clocksAreWrong says which clock is not wrong as the fault has it.
func (e *episode) clocksAreWrong(ctx context.Context) error {
	off, margin := e.wrongBy()
	if len(e.plan.Clocks) > 0 && e.plan.Rate != 0 && off.Abs() < seenDrift {
		return fmt.Errorf("clocks have not drifted by %v yet", seenDrift)
	}
	e.clockMargin = margin
	return e.clocksAre(ctx, e.wrongBy)
}

// clocksAreRight says which clock is wrong.
func (e *episode) clocksAreRight(ctx context.Context) error {
	return e.clocksAre(ctx, func() (time.Duration, time.Duration) { return 0, cmp.Or(e.clockMargin, clockMargin) })
}

// clocksAre says which clock is not wrong by so much.
func (e *episode) clocksAre(ctx context.Context, want func() (off, margin time.Duration)) error {
	return each(e.plan.Clocks, func(node string) (err error) {
		for range clockTries {
			before, _ := want() // it was read at some time between the two
			offset, failed := e.config.Nodes[node].NodeClock(ctx, node)
			after, margin := want()
			if failed == nil && offset >= min(before, after)-margin && offset <= max(before, after)+margin {
				return nil
			}
			if err = wrap("read the clock of", node, failed); err == nil {
				err = fmt.Errorf("the clock of node %s is off by %v, not by %v", node, offset.Round(time.Millisecond),
					after.Round(time.Millisecond))
			}
		}
		return err
	})
}
