package locktest

import (
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// Leaping is the process's clock, which a test can put ahead, so that a client believes that its
// time is over while its servers do not. Timers of one length, Caught, do not run: they are handed to
// the test, which fires them.
type Leaping struct {
	Caught time.Duration
	Timers chan func() // what fires each of them; make it with room for all

	ahead atomic.Int64
}

var _ clock.Clock = (*Leaping)(nil)

// Leap puts the clock ahead. What runs already is not affected.
func (l *Leaping) Leap(d time.Duration) { l.ahead.Add(int64(d)) }

// Now implements [clock.Clock].
func (l *Leaping) Now() time.Time { return clock.System().Now().Add(time.Duration(l.ahead.Load())) }

// NewTimer implements [clock.Clock].
func (l *Leaping) NewTimer(d time.Duration) clock.Timer {
	if d != l.Caught {
		return clock.System().NewTimer(d)
	}
	t := caught{make(chan time.Time, 1)}
	l.Timers <- func() { t.c <- l.Now() }
	return t
}

// AfterFunc implements [clock.Clock].
func (l *Leaping) AfterFunc(d time.Duration, f func()) clock.Timer {
	if d != l.Caught {
		return clock.System().AfterFunc(d, f)
	}
	l.Timers <- f
	return caught{}
}

// caught is a timer that only the test fires.
type caught struct{ c chan time.Time }

func (c caught) C() <-chan time.Time    { return c.c }
func (caught) Stop() bool               { return true }
func (caught) Reset(time.Duration) bool { return true }
