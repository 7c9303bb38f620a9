package locktest

import (
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// Clock is the process's clock, which a test can put ahead, so that a client believes that its
// time is over while its servers do not, and which a check can stop: for a client that runs on it
// no time passes and no timer fires, so that it renews nothing, as if it had crashed or been
// paused. When it goes on, it shows the right time again, and what should have fired does. The zero value runs.
type Clock struct {
	ahead   atomic.Int64               // nanoseconds
	stopped atomic.Pointer[standstill] // nil while it runs
}

type standstill struct {
	at   time.Time
	over chan struct{}
}

var _ clock.Clock = (*Clock)(nil)

// Leap puts the clock ahead. What runs already is not affected.
func (c *Clock) Leap(d time.Duration) { c.ahead.Add(int64(d)) }

// stop stops the clock until goOn is called, for the first time.
func (c *Clock) stop() (goOn func()) {
	s := &standstill{c.Now(), make(chan struct{})}
	c.stopped.Store(s)
	return sync.OnceFunc(func() {
		c.stopped.Store(nil)
		close(s.over)
	})
}

// Now implements [clock.Clock].
func (c *Clock) Now() time.Time {
	if s := c.stopped.Load(); s != nil {
		return s.at
	}
	return clock.System().Now().Add(time.Duration(c.ahead.Load()))
}

// AfterFunc implements [clock.Clock].
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return clock.System().AfterFunc(d, func() {
		if s := c.stopped.Load(); s != nil {
			<-s.over
		}
		f()
	})
}
