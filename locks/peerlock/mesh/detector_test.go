package mesh

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// listen feeds arrivals with the gaps to a fresh detector and returns it and the
// time of the last.
func listen(gaps ...time.Duration) (*detector, time.Duration) {
	d := newDetector(timingOf(2), 0)
	var now time.Duration
	for _, g := range gaps {
		now += g
		d.heard(now)
	}
	return &d, now
}

func repeat(n int, gaps ...time.Duration) []time.Duration {
	var all []time.Duration
	for range n {
		all = append(all, gaps...)
	}
	return all
}

func TestDetector(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name        string
		gaps        []time.Duration
		least, most time.Duration // of the silence that is tolerated
	}{
		{"before anything was heard", nil, 300 * ms, 600 * ms},
		{"quiet machine", repeat(100, 50*ms), 300 * ms, 600 * ms},
		{"a little jitter", repeat(100, 25*ms, 75*ms), 300 * ms, 600 * ms},
		{"one long gap", append(repeat(100, 50*ms), 390*ms), 600 * ms, 1200 * ms},
		{"busy machine", repeat(100, 10*ms, 250*ms), 600 * ms, 1500 * ms},
		{"calm again", append(repeat(100, 10*ms, 250*ms), repeat(40, 50*ms)...), 300 * ms, 600 * ms},
		{"never beyond the bound", repeat(100, 10*ms, 3000*ms), 3000 * ms, 3000 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, now := listen(tt.gaps...)
			if d.dead(now+tt.least-ms, 0) {
				t.Errorf("dead after %v of silence already", tt.least-ms)
			}
			if !d.dead(now+tt.most+ms, 0) {
				t.Errorf("still alive after %v of silence", tt.most+ms)
			}
		})
	}
}

func TestDetectorStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, now := listen(rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "gap"))
		})).Draw(t, "gaps")...)
		if limit := d.limit(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "late"))); limit < d.timing.silenceMin || limit > d.timing.silenceMax {
			t.Fatalf("limit is %v", limit)
		}
		if d.dead(now, 0) {
			t.Fatal("dead at the moment of an arrival")
		}
	})
}

func TestDetectorIsPatientWhileThisProcessIsLate(t *testing.T) {
	d, now := listen(repeat(100, 50*time.Millisecond)...)
	if at := now + 700*time.Millisecond; !d.dead(at, 0) || d.dead(at, 60*time.Millisecond) {
		t.Error("700 ms of silence should be death on a quiet machine only")
	}
}

func TestRunClockForgetsThatItWasLate(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := runClock{tick: 25 * time.Millisecond, at: at}
	at = at.Add(85 * time.Millisecond)
	c.advance(at)
	if c.late != 60*time.Millisecond {
		t.Errorf("late by %v, want 60ms", c.late)
	}
	for range 800 {
		at = at.Add(25 * time.Millisecond)
		c.advance(at)
	}
	if c.late > time.Millisecond {
		t.Errorf("after 20 s on time still late by %v", c.late)
	}
}

func TestRunClockDoesNotCountWhatItMissed(t *testing.T) {
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := runClock{tick: 25 * time.Millisecond, at: start}
	for i := 1; i <= 4; i++ {
		c.advance(start.Add(time.Duration(i) * 25 * time.Millisecond))
	}
	if c.ran != 100*time.Millisecond {
		t.Errorf("four ticks are %v", c.ran)
	}
	c.advance(start.Add(time.Hour)) // the process was stopped
	if c.ran != 150*time.Millisecond {
		t.Errorf("an hour without running counts as %v, want two ticks", c.ran-100*time.Millisecond)
	}
	c.advance(start) // the clock was set back
	if c.ran != 150*time.Millisecond {
		t.Error("the running clock went back")
	}
}

// TestHeartbeatsOfLargeMeshesAreBounded: twice the peers are not four times the messages,
// and a heartbeat that is late is in time for all that.
func TestHeartbeatsOfLargeMeshesAreBounded(t *testing.T) {
	for n := 1; n <= MaxRank; n++ {
		timing := timingOf(n)
		if each := float64(n) / timing.heartbeat().Seconds(); each > 84 || n > 25 && each > 42 {
			t.Errorf("%d peers: each says %.0f heartbeats in a second, want at most 84, or 42 from 26 on", n, each)
		}
		if slack := timing.silenceMin - timing.heartbeat() - timing.tick; slack < 250*time.Millisecond || timing.silenceMax < timing.silenceMin {
			t.Errorf("%d peers: a heartbeat every %v, and silence of %v to %v is death", n, timing.heartbeat(), timing.silenceMin, timing.silenceMax)
		}
		// Heartbeats that come right before a tick and right after it in turn are no jitter.
		d, now := newDetector(timing, 0), time.Duration(0)
		for _, gap := range repeat(100, timing.heartbeat()-timing.tick, timing.heartbeat()+timing.tick) {
			now += gap
			d.heard(now)
		}
		if !d.dead(now+timing.silenceMin+1, 0) {
			t.Errorf("%d peers: still alive after %v, tolerates %v", n, timing.silenceMin, d.limit(0))
		}
	}
}
