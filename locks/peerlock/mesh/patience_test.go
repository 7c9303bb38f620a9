package mesh

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	const ms = time.Millisecond
	for late, want := range map[time.Duration]time.Duration{0: 400 * ms, 60 * ms: 760 * ms, time.Minute: 3 * time.Second} {
		if got := patience(late); got != want {
			t.Errorf("late by %v: patience is %v, want %v", late, got, want)
		}
	}
}

func TestRunClockForgetsThatItWasLate(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := runClock{at: at}
	at = at.Add(tick + 60*time.Millisecond)
	c.advance(at)
	if c.late != 60*time.Millisecond {
		t.Errorf("late by %v, want 60ms", c.late)
	}
	for range 800 {
		at = at.Add(tick)
		c.advance(at)
	}
	if c.late > time.Millisecond {
		t.Errorf("after 40 s on time still late by %v", c.late)
	}
}

func TestRunClockDoesNotCountWhatItMissed(t *testing.T) {
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := runClock{at: start}
	for i := 1; i <= 4; i++ {
		c.advance(start.Add(time.Duration(i) * tick))
	}
	if c.ran != 4*tick {
		t.Errorf("four ticks are %v", c.ran)
	}
	c.advance(start.Add(time.Hour)) // the process was stopped
	if c.ran != 6*tick {
		t.Errorf("an hour without running counts as %v, want two ticks", c.ran-4*tick)
	}
	c.advance(start) // the clock was set back
	if c.ran != 6*tick {
		t.Error("the running clock went back")
	}
}
