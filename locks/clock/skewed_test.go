package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"locklab/locks/clock"
)

// TestSkewedClock: in the bubble's time, a step moves the wall clock alone, a rate everything,
// and a clock that was set right tells the right time and goes on where it was.
func TestSkewedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSkewed(clock.System())
		begun := time.Now()
		var now, wall time.Duration // by how much each is to be off
		check := func(what string) {
			t.Helper()
			passed := time.Since(begun)
			if off := c.Now().Sub(begun) - passed; off != now {
				t.Errorf("%s: off by %v, want %v", what, off, now)
			}
			if off := clock.Wall(c).Sub(begun) - passed; off != wall {
				t.Errorf("%s: the wall clock is off by %v, want %v", what, off, wall)
			}
		}
		check("right")
		c.Set(-time.Minute, 1)
		wall = -time.Minute
		check("a step")
		c.Set(0, 2)
		wall = 0
		check("a rate, at once")
		time.Sleep(10 * time.Second)
		now, wall = 10*time.Second, 10*time.Second
		check("a rate")

		before := time.Now()
		<-c.NewTimer(4 * time.Second).C()
		fired := make(chan struct{})
		c.AfterFunc(4*time.Second, func() { close(fired) })
		<-fired
		timer := c.NewTimer(time.Hour)
		timer.Reset(4 * time.Second)
		<-timer.C()
		if took := time.Since(before); took != 6*time.Second {
			t.Errorf("three timers of 4 s took %v at twice the rate, want 6s", took)
		}
		now, wall = 16*time.Second, 16*time.Second
		check("after the timers")

		c.Set(0, 1)
		wall = 0
		check("set right")
		time.Sleep(time.Second)
		check("and running on")
	})
}
