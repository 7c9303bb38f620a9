package locks

import (
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

// Term is the time for which a holder may believe that it holds. Make it with NewTerm.
type Term struct {
	clock clock.Clock
	lost  chan struct{}

	mu    sync.Mutex
	until time.Time // zero if it has no end
	timer clock.Timer
	over  bool
}

// NewTerm returns a term until then, or without an end if until is zero.
func NewTerm(c clock.Clock, until time.Time) *Term {
	t := &Term{clock: c, lost: make(chan struct{}), until: until}
	if !until.IsZero() {
		t.mu.Lock() // the timer may fire at once
		defer t.mu.Unlock()
		t.timer = c.AfterFunc(until.Sub(c.Now()), t.ring)
	}
	return t
}

// ring loses the term, or sets the timer again if the clock has slowed down.
func (t *Term) ring() {
	if t.IsLost() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		t.timer.Reset(t.until.Sub(t.clock.Now()))
	}
}

// Extend moves the end, unless it has passed.
func (t *Term) Extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); !t.over && now.Before(t.until) {
		t.until = until
		t.timer.Reset(until.Sub(now))
	}
}

// End ends the term without closing Lost, as a release does. It reports whether this is the first end.
func (t *Term) End() (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, t.over = !t.over, true
	if t.timer != nil {
		t.timer.Stop()
	}
	return first
}

// Lose ends the term and closes Lost.
func (t *Term) Lose() {
	if t.End() {
		close(t.lost)
	}
}

// IsLost reports whether the term is lost. It loses the term if its time is over.
func (t *Term) IsLost() bool {
	if until, ends := t.Expires(); ends && !t.clock.Now().Before(until) {
		t.Lose()
	}
	return signals.Closed(t.lost)
}

// Lost is closed by Lose, and when the time is over.
func (t *Term) Lost() <-chan struct{} { return t.lost }

// Expires returns the end, false if there is none.
func (t *Term) Expires() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until, !t.until.IsZero()
}

// Over reports whether the holder of a lease must not act any more: Lost is closed, or the end has passed by
// this process's clock but no timer has fired yet, as after a pause.
func Over(l Lease) bool {
	until, ends := l.Expires()
	return signals.Closed(l.Lost()) || ends && !clock.System().Now().Before(until)
}
