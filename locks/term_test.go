package locks_test

import (
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// TestTerm: a term is lost at its end, wherever that was moved to, also by a clock that got slower; not once it
// has been ended, and not later than it is looked at.
func TestTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.NewSkewed(clock.System())
		extended := locks.NewTerm(c, c.Now().Add(time.Second))
		released := locks.NewTerm(c, c.Now().Add(time.Second))
		endless := locks.NewTerm(c, time.Time{})
		extended.Extend(c.Now().Add(2 * time.Second))
		if !released.End() || released.End() {
			t.Error("only the first end is one")
		}
		c.Set(0, 0.5)
		for after, lost := range []bool{false, false, false, false, true} {
			synctest.Wait()
			if signals.Closed(extended.Lost()) != lost || signals.Closed(released.Lost()) || endless.IsLost() {
				t.Errorf("after %d s", after)
			}
			time.Sleep(time.Second)
		}
		extended.Extend(c.Now().Add(time.Minute))
		if until, ends := extended.Expires(); !ends || until.After(c.Now()) {
			t.Errorf("extended to %v after its end", until)
		}
		endless.Lose()
		if _, ends := endless.Expires(); ends || !endless.IsLost() {
			t.Error("what has no end is lost when it is said")
		}
	})
}
