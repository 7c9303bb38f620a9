package locktest

import (
	"sync"
	"time"

	"locklab/locks/clock"
)

// Clock is the process's clock, which a check can stop: for a client that runs on it
// no time passes and no timer fires, so that it renews nothing, as if it had crashed
// or been paused. When it goes on, it shows the right time again, and what should have
// fired does.
type Clock struct {
	mu      sync.Mutex
	stopped bool
	at      time.Time // of the stop
	due     []func()  // timers that ran out since
}

var _ clock.Clock = (*Clock)(nil)

// NewClock returns a clock that runs.
func NewClock() *Clock { return &Clock{} }

func (c *Clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.at = true, clock.System().Now()
}

func (c *Clock) goOn() {
	c.mu.Lock()
	due := c.due
	c.stopped, c.due = false, nil
	c.mu.Unlock()
	for _, fire := range due {
		go fire()
	}
}

// Now implements [clock.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return c.at
	}
	return clock.System().Now()
}

// NewTimer implements [clock.Clock].
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, c: make(chan time.Time, 1)}
	t.arm(d)
	return t
}

// AfterFunc implements [clock.Clock].
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{clock: c, f: f}
	t.arm(d)
	return t
}

type timer struct {
	clock *Clock
	c     chan time.Time // nil if there is f
	f     func()

	// Guarded by clock.mu.
	inner clock.Timer
	round int // of arm and disarm: what fires of an earlier one is void
	armed bool
}

func (t *timer) arm(d time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.round++
	t.armed = true
	round := t.round
	t.inner = clock.System().AfterFunc(d, func() { t.fire(round) })
}

func (t *timer) fire(round int) {
	t.clock.mu.Lock()
	switch {
	case round != t.round:
	case t.clock.stopped:
		t.clock.due = append(t.clock.due, func() { t.fire(round) })
	default:
		t.armed = false
		if t.f != nil {
			defer t.f() // without the mutex
		} else {
			t.c <- clock.System().Now() // empty: disarm has seen to that
		}
	}
	t.clock.mu.Unlock()
}

// C implements [clock.Timer].
func (t *timer) C() <-chan time.Time { return t.c }

// Stop implements [clock.Timer].
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.armed
	t.armed = false
	t.round++
	t.inner.Stop()
	select {
	case <-t.c:
	default:
	}
	return was
}

// Reset implements [clock.Timer].
func (t *timer) Reset(d time.Duration) bool {
	was := t.Stop()
	t.arm(d)
	return was
}
