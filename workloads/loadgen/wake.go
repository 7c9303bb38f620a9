package loadgen

import (
	"sync/atomic"

	"locklab/locks/clock"
)

// lead is how much earlier something must begin to be done in time. To wake a
// thread, or a goroutine on another one, takes the machine some tens of
// microseconds, always; the lead learns how long, and whoever is early spins over
// what is left. It steers to be early every second time: then the lateness is how
// far a wake-up strays from the usual one, and the spinning is no longer than that.
// Races between threads that learn at once only blur it.
type lead struct{ learned atomic.Int64 }

const (
	leadStep = 200     // ns
	leadMax  = 100_000 // ns; a machine that takes longer is not steady enough to predict
)

func (l *lead) ns() int64 { return l.learned.Load() }

// await learns from when the caller came, and returns at the deadline or just
// after it, never before, with the time.
func (l *lead) await(deadline int64) int64 {
	now := clock.Mono()
	if now < deadline {
		l.learned.Store(max(l.ns()-leadStep, 0))
	} else {
		l.learned.Store(min(l.ns()+leadStep, leadMax))
	}
	for now < deadline {
		now = clock.Mono()
	}
	return now
}

// sleeper sleeps until moments of clock.Mono on a pinned thread.
type sleeper struct{ wake lead }

// until returns at the deadline or just after it, never before.
func (s *sleeper) until(deadline int64) {
	if ahead := deadline - s.wake.ns(); clock.Mono() < ahead {
		clock.SleepPinned(ahead)
		s.wake.await(deadline)
		return
	}
	for clock.Mono() < deadline { // what is left is shorter than a sleep
	}
}
