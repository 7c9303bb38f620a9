// Package clock is the one place where the lab reads a clock. It offers three:
//
//   - [Clock], the process's own time, injected into everything that has timeouts,
//     so that tests can replace it;
//   - [Mono], nanoseconds of the machine's monotonic clock, which all processes of
//     one machine share and no clock step moves: histories are written in it;
//   - [Precise], which wakes at exact moments, where the 1 ms granularity of the
//     runtime's timers is too coarse (injected delays, load schedules).
package clock

import (
	"context"
	"time"
)

// Clock tells the time and makes timers.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d, as time.AfterFunc does.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a running timer.
type Timer interface {
	// Stop prevents the timer from firing; false if it had fired or was stopped.
	Stop() bool
	// Reset makes the timer fire after d from now.
	Reset(d time.Duration) bool
}

// System is the process's real clock. Inside a synctest bubble it is the bubble's.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time                            { return time.Now() }
func (system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// After closes the channel after d, unless stop is called before. Every caller must call stop.
func After(c Clock, d time.Duration) (over <-chan struct{}, stop func() bool) {
	fired := make(chan struct{})
	return fired, c.AfterFunc(d, func() { close(fired) }).Stop
}

// anchor ties the runtime's monotonic reading, which is cheap to take, to the
// machine's, which other processes understand.
type anchor struct {
	mono int64
	at   time.Time
}

var origin = newAnchor() //nolint:gochecknoglobals // constant once the process runs

// newAnchor reads time.Now between two readings of the machine's clock. An interruption between them
// would make the anchor wrong for good, so it tries several times and keeps the closest pair.
func newAnchor() anchor {
	const times = 32
	var best anchor
	var closest int64
	for i := range times {
		before := machineMono()
		at := time.Now()
		after := machineMono()
		if apart := after - before; i == 0 || apart < closest {
			best, closest = anchor{mono: before + apart/2, at: at}, apart
		}
	}
	return best
}

// Sleep waits on the system's clock, and returns early with ctx's error if ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if _, ended := Await(System(), d, ctx.Done()); ended {
		return ctx.Err()
	}
	return nil
}

// Await waits up to d for the channel to deliver a value or to close; came is false if it did neither.
func Await[T any](c Clock, d time.Duration, channel <-chan T) (value T, came bool) {
	over, stop := After(c, d)
	defer stop()
	select {
	case value = <-channel:
		return value, true
	case <-over:
		return value, false
	}
}

// Mono is the machine's monotonic clock in nanoseconds: comparable between all
// processes of one machine, meaningless between machines.
func Mono() int64 { return origin.mono + int64(time.Since(origin.at)) }
