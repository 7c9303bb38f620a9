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
		over, _ := clock.After(c, 4*time.Second)
		<-over
		fired := make(chan struct{})
		c.AfterFunc(time.Hour, func() { close(fired) }).Reset(4 * time.Second)
		<-fired
		if took := time.Since(before); took != 4*time.Second {
			t.Errorf("two timers of 4 s took %v at twice the rate, want 4s", took)
		}
		now, wall = 14*time.Second, 14*time.Second
		check("after the timers")

		c.Set(0, 1)
		wall = 0
		check("set right")
		time.Sleep(time.Second)
		check("and running on")
	})
}
