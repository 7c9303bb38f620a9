package loadgen

import (
	"sync"
	"time"
)

// Dial changes the rate of a schedule while it is played. What is due follows from the
// schedule and from when the dial was turned, never from what was sent or answered: also of
// a generator that is late. The zero value leaves the rate as it is.
type Dial struct {
	mu    sync.Mutex
	turns []turn // by time
}

// turn is one setting: from at on, factor times the rate of the schedule.
type turn struct {
	at     time.Duration
	factor float64
}

// Turn makes the rate factor times that of the schedule from at on, which counts from the
// schedule's beginning and does not decrease. One operation, which the generator waits for
// already, is still due when it was.
func (d *Dial) Turn(at time.Duration, factor float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.turns) - 1; last >= 0 {
		at = max(at, d.turns[last].at)
	}
	d.turns = append(d.turns, turn{max(at, 0), factor})
}

// Pace is the schedule p under the dial.
func (d *Dial) Pace(p Pacer) Pacer {
	return func(yield func(time.Duration) bool) {
		var due, before time.Duration // under the dial, and without it
		for at := range p {
			due += d.takes(due, at-before)
			before = at
			if !yield(due) {
				return
			}
		}
	}
}

// takes is how long what the schedule does in a time lasts from a moment on.
func (d *Dial) takes(from, of time.Duration) (took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	factor := 1.0
	for _, t := range d.turns {
		if t.at > from {
			until := t.at - from
			if whole := time.Duration(float64(of) / factor); whole <= until {
				return took + whole
			}
			took, from = took+until, t.at
			of -= time.Duration(float64(until) * factor)
		}
		factor = t.factor
	}
	if factor == 1 {
		return took + of
	}
	return took + time.Duration(float64(of)/factor)
}
