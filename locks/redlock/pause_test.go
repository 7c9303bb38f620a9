package redlock

import (
	"testing"
	"testing/synctest"
	"time"
)

// rested is how long a client with these options waits before it asks again, when the instances are
// done with a refused attempt after so long; never if negative.
func rested(t *testing.T, options Options, done time.Duration) time.Duration {
	t.Helper()
	l, err := New(Config{Addrs: []string{"127.0.0.1:1"}, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	le := l.newLease("r")
	if done >= 0 {
		time.AfterFunc(done, func() { close(le.cleared) })
	}
	start := l.now()
	wait, _ := pausing(nil, "r")
	if err := l.rest(t.Context(), le, wait); err != nil {
		t.Fatal(err)
	}
	return l.now() - start
}

// TestARefusedClientAsksAgainAfterARandomDelay, which begins when the deletions of its
// attempt are done, or have had time to be: never before, and no two clients in step.
func TestARefusedClientAsksAgainAfterARandomDelay(t *testing.T) {
	const delay, clients = time.Millisecond, 64
	options := DefaultOptions()
	options.Delay = delay
	for name, c := range map[string]struct{ done, from time.Duration }{
		"when the instances are done":         {delay * 7 / 10, delay * 7 / 10},
		"when they had time, if one hangs":    {-1, delay},
		"when they had time, if one is tardy": {time.Second, delay},
		"at once, if they are done already":   {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := map[time.Duration]bool{}
				early := 0
				for range clients {
					waited := rested(t, options, c.done) - c.from
					if waited < delay/2 || waited > delay*3/2 {
						t.Errorf("paused for %v after %v, want half of %v to one and a half", waited, c.from, delay)
					}
					if waited < delay {
						early++
					}
					seen[waited] = true
				}
				if len(seen) < clients*9/10 || min(early, clients-early) < clients/8 {
					t.Errorf("%d clients paused for %d different times, %d of them for less than %v: they are in step", clients, len(seen), early, delay)
				}
				options := options
				options.FixedDelay = true
				if waited := rested(t, options, c.done) - c.from; waited != delay {
					t.Errorf("retry=fixed: paused for %v, want %v", waited, delay)
				}
			})
		})
	}
}
