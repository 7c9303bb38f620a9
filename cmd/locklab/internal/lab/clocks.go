package lab

import (
	"context"
	"fmt"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/agent"
	"locklab/workloads/history"
)

// The clock of each host that is not this machine is read when a run begins, by which events are converted, and
// again when it ends: the end of the history says for each host how far its times may be off, drift included.

const (
	// clockRoundTrips is how often a clock is read: the fastest answer tells most.
	clockRoundTrips = 20
	// tolerance is how much a clock gains or loses at most on another, per second,
	// where that could not be measured: what the kernel itself assumes of a clock that
	// it no longer hears about (MAXFREQ, 500 ppm).
	tolerance = 500 * time.Microsecond
)

// hostClock is how a host's clock lies to the controller's in one run.
type hostClock struct {
	agent.Offset
	readNS int64 // when, on clock.Mono
}

// shift moves an event to the controller's clock.
func (h hostClock) shift(e *history.Event) {
	for _, t := range []*int64{&e.AtNS, &e.FromNS, &e.SentNS} {
		if *t != 0 {
			*t += int64(h.Add)
		}
	}
	e.ErrNS = int64(h.Error)
}

// boundAtEnd is how far times that were converted with this reading may be off, given another one when the run
// was over: a clock that drifts one way was never further off than in the end.
func (h hostClock) boundAtEnd(end agent.Offset) time.Duration {
	return max(h.Error, (end.Add-h.Add).Abs()+end.Error)
}

// boundUnread is the same for a clock that could not be read again and was last heard at a moment.
func (h hostClock) boundUnread(heardNS int64) time.Duration {
	return h.Error + time.Duration(time.Duration(max(heardNS-h.readNS, 0)).Seconds()*float64(tolerance))
}

// readClock reads the host's clock when a run begins.
func (m *machine) readClock(ctx context.Context) (err error) {
	m.clock.readNS = clock.Mono()
	if m.clock.Offset, err = m.agent.ClockOffset(ctx, clockRoundTrips); err != nil {
		return fmt.Errorf("host %s: read its clock: %w", m.Name, err)
	}
	return nil
}

// settleClocks reads the clocks again and writes into the history how far the times
// of each host may be off.
func (c *cluster) settleClocks(ctx context.Context) error {
	return c.each(func(m *machine) error {
		if m.local != nil || m.clock.readNS == 0 {
			return nil
		}
		at, lost := c.lost[m.Name]
		bound := m.clock.boundUnread(at)
		if !lost {
			end, err := m.agent.ClockOffset(ctx, clockRoundTrips)
			if err != nil {
				return c.tolerate(m.Name, fmt.Errorf("host %s: read its clock: %w", m.Name, err))
			}
			bound = m.clock.boundAtEnd(end)
		}
		c.recorder.Record(history.Event{Kind: history.KindClock, AtNS: clock.Mono(), Host: m.Name, ErrNS: int64(bound)})
		c.fleet.log.Info("clock of a host", "host", m.Name, "offset", m.clock.Add, "error", bound)
		return nil
	})
}
