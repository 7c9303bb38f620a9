package clock

import (
	"sync/atomic"
	"time"
)

// Skewed is a clock that can be made wrong while it runs, in the two ways in which real ones
// are. A step moves the wall clock alone, as an administrator or NTP does: what is told by
// [Wall]. A rate makes the whole clock run fast or slow, as a bad oscillator does: all that it
// tells, and its timers from the next one on. Make it with [NewSkewed]. It is safe for
// concurrent use, and until it is skewed as cheap as the clock below it.
type Skewed struct {
	base Clock
	skew atomic.Pointer[skew]
}

// skew is what is wrong since a moment.
type skew struct {
	since, told time.Time // the moment, and what the clock said then
	rate        float64
	step        time.Duration // of the wall clock, on top
}

var _ Clock = (*Skewed)(nil)

// NewSkewed is a right clock, as far as the one below is.
func NewSkewed(base Clock) *Skewed { return &Skewed{base: base} }

// Set makes the wall clock wrong by so much from now on, and run at a rate: 1 is right, 1.5
// gains half a second a second. What the clock gained or lost before stays in [Skewed.Now],
// which never jumps, and leaves its wall clock.
func (s *Skewed) Set(off time.Duration, rate float64) {
	since := s.base.Now()
	told := s.skew.Load().now(since)
	s.skew.Store(&skew{since: since, told: told, rate: rate, step: off - told.Sub(since)})
}

func (s *skew) now(base time.Time) time.Time {
	if s == nil {
		return base
	}
	return s.told.Add(time.Duration(float64(base.Sub(s.since)) * s.rate))
}

// Now is the time without the step.
func (s *Skewed) Now() time.Time {
	now := s.base.Now()
	return s.skew.Load().now(now)
}

// Wall is the time with the step.
func (s *Skewed) Wall() time.Time {
	k := s.skew.Load()
	now := k.now(s.base.Now())
	if k != nil {
		now = now.Add(k.step)
	}
	return now
}

// real is how long the clock below runs until this one has run for d.
func (s *Skewed) real(d time.Duration) time.Duration {
	if k := s.skew.Load(); k != nil {
		return time.Duration(float64(d) / k.rate)
	}
	return d
}

// AfterFunc calls f when d has passed by the rate of now.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer {
	return skewedTimer{s.base.AfterFunc(s.real(d), f), s}
}

type skewedTimer struct {
	Timer
	clock *Skewed
}

func (t skewedTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.real(d)) }

// Wall is the wall clock's time, which steps move: for what is told to others or kept. How
// much time has passed is told by Now.
func Wall(c Clock) time.Time {
	if s, ok := c.(interface{ Wall() time.Time }); ok {
		return s.Wall()
	}
	return c.Now()
}
