package cluster

import (
	"time"

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
