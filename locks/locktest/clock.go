package locktest

import (
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// Clock is a client's clock. A test can put it ahead, so that the client sees its lease end before
// the servers do. A check can stop it: then no timer fires and no lease is renewed, as if the client
// were paused. When it resumes, it shows the right time and overdue timers fire. The zero value runs.
type Clock struct {
	ahead   atomic.Int64               // nanoseconds
	stopped atomic.Pointer[standstill] // nil while it runs
}

type standstill struct {
	at   time.Time
	over chan struct{}
}

var _ clock.Clock = (*Clock)(nil)

// Leap puts the clock ahead. Running timers are not affected.
func (c *Clock) Leap(d time.Duration) { c.ahead.Add(int64(d)) }

// stop stops the clock until the first call of goOn.
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
