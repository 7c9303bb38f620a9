package cluster

import (
	"time"

	"locklab/nodes/agent"
	"locklab/workloads/history"
)

// The clocks of other machines are read when a run begins, to convert events, and when it ends, to record how far each
// host's times may be off, drift included.

const (
	// clockRoundTrips is how often a clock is read: the fastest answer tells most.
	clockRoundTrips = 20
	// tolerance is how much a clock gains or loses at most per second where that was not measured: the bound of Linux
	// (MAXFREQ, 500 ppm).
	tolerance = 500 * time.Microsecond
)

// hostClock is the offset of a host's clock to the controller's in one run.
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

// boundAtEnd bounds the error of times converted with this reading, given one at the end of the run: a clock that
// drifts one way is furthest off then.
func (h hostClock) boundAtEnd(end agent.Offset) time.Duration {
	return max(h.Error, (end.Add-h.Add).Abs()+end.Error)
}

// boundUnread is the same for a clock that could not be read again and was last heard at a moment.
func (h hostClock) boundUnread(heardNS int64) time.Duration {
	return h.Error + time.Duration(time.Duration(max(heardNS-h.readNS, 0)).Seconds()*float64(tolerance))
}
