package loadgen

import (
	"iter"
	"math"
	"sync/atomic"
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

// Dial changes the rate of a schedule while it is played. The zero value leaves the rate as it is.
type Dial struct{ factor atomic.Pointer[float64] }

// Turn makes the rate of what comes from now on that of the schedule times factor. The operation that the
// generator waits for already is still due when it was.
func (d *Dial) Turn(factor float64) { d.factor.Store(&factor) }

// Pace is the schedule p under the dial.
func (d *Dial) Pace(p Pacer) Pacer {
	return func(yield func(time.Duration) bool) {
		var due, before time.Duration // under the dial, and without it
		for at := range p {
			between := at - before
			if factor := d.factor.Load(); factor != nil {
				between = time.Duration(float64(between) / *factor)
			}
			due, before = due+between, at
			if !yield(due) {
				return
			}
		}
	}
}
