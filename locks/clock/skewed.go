package clock

import (
	"sync/atomic"
	"time"
)

// Skewed is a clock that can be made wrong while it runs, in two ways. A step moves only the wall
// clock ([Wall]), as an administrator or NTP does. A rate makes the whole clock and every new timer
// run fast or slow, as a bad oscillator does. Make it with [NewSkewed]. It is safe for concurrent use.
type Skewed struct {
	base Clock
	skew atomic.Pointer[skew]
}

// skew is the error of the clock from one moment on.
type skew struct {
	since, told time.Time // the moment, on the base clock and on this one
	rate        float64
	step        time.Duration // added to the wall clock only
}

var _ Clock = (*Skewed)(nil)

// NewSkewed returns a clock that agrees with base until Set is called.
func NewSkewed(base Clock) *Skewed { return &Skewed{base: base} }

// Set puts the wall clock off by that much now, and sets the clock's rate: 1 is right, 1.5 gains 0.5 s
// per second. [Skewed.Now] never jumps: it keeps earlier gains and losses; the wall clock drops them.
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

// Now returns the time without the step.
func (s *Skewed) Now() time.Time {
	now := s.base.Now()
	return s.skew.Load().now(now)
}

// Wall returns the time with the step.
func (s *Skewed) Wall() time.Time {
	k := s.skew.Load()
	now := k.now(s.base.Now())
	if k != nil {
		now = now.Add(k.step)
	}
	return now
}

// real converts a duration of this clock into one of the base clock.
func (s *Skewed) real(d time.Duration) time.Duration {
	if k := s.skew.Load(); k != nil {
		return time.Duration(float64(d) / k.rate)
	}
	return d
}

// AfterFunc calls f after d, counted at the present rate.
func (s *Skewed) AfterFunc(d time.Duration, f func()) Timer {
	return skewedTimer{s.base.AfterFunc(s.real(d), f), s}
}

type skewedTimer struct {
	Timer
	clock *Skewed
}

func (t skewedTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.clock.real(d)) }

// Wall returns the wall clock's time, which steps move: for timestamps that are sent or stored.
// Measure elapsed time with Now.
func Wall(c Clock) time.Time {
	if s, ok := c.(interface{ Wall() time.Time }); ok {
		return s.Wall()
	}
	return c.Now()
}
