package loadgen

import (
	"iter"
	"math"
	"sync"
	"time"

	"locklab/internal/seed"
)

// MaxRate is the highest rate that a schedule may ask for, in operations per
// second. It is far above what one generator thread can send.
const MaxRate = 1_000_000

// Pacer is a schedule: the endless, never decreasing sequence of the times, after
// the start, at which operations are due. It is pure: ranging over it again gives
// the same times, whatever happened to the operations.
type Pacer = iter.Seq[time.Duration]

// Poisson schedules rate operations per second on average, with exponentially
// distributed distances: arrivals that know nothing of each other.
func Poisson(rate float64, from seed.Seed) Pacer {
	return func(yield func(time.Duration) bool) {
		random := from.Rand()
		at := random.ExpFloat64()
		for yield(time.Duration(at * float64(time.Second) / rate)) {
			at += random.ExpFloat64()
		}
	}
}

// Ramp lets the rate of p rise evenly from nothing to its full value within the
// given time, and keeps it from there on. Systems that start cold (no rooms, no
// connections) meet full load otherwise before they are warm, and a queue that
// built up then may never drain.
func Ramp(p Pacer, within time.Duration) Pacer {
	if within <= 0 {
		return p
	}
	half := float64(within) / 2 // what a full rate would have sent in half the time
	return func(yield func(time.Duration) bool) {
		for at := range p {
			warped := at + within/2
			if float64(at) < half {
				warped = time.Duration(math.Sqrt(4 * half * float64(at)))
			}
			if !yield(warped) {
				return
			}
		}
	}
}

// Parties makes size operations due at each time of p, at the same instant. The
// rate is that of p times size.
func Parties(p Pacer, size int) Pacer {
	return func(yield func(time.Duration) bool) {
		for at := range p {
			for range size {
				if !yield(at) {
					return
				}
			}
		}
	}
}

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
	d.turns = append(d.turns, turn{at, factor})
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
	return took + time.Duration(float64(of)/factor)
}
