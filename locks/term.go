package locks

import (
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

// Term is until when a holder may believe that it holds. Make it with NewTerm.
type Term struct {
	clock clock.Clock
	lost  chan struct{}

	mu    sync.Mutex
	until time.Time // zero if it has no end
	timer clock.Timer
	over  bool
}

// NewTerm is a term until then, or, if that is zero, until it is ended.
func NewTerm(c clock.Clock, until time.Time) *Term {
	t := &Term{clock: c, lost: make(chan struct{}), until: until}
	if !until.IsZero() {
		t.mu.Lock() // the timer may fire at once
		defer t.mu.Unlock()
		t.timer = c.AfterFunc(until.Sub(c.Now()), t.ring)
	}
	return t
}

// ring is called when the time should be over: a clock may run slower by now.
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

// Extend moves the end, if it has not come yet.
func (t *Term) Extend(until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); !t.over && now.Before(t.until) {
		t.until = until
		t.timer.Reset(until.Sub(now))
	}
}

// End ends the term, as a release does. It says whether nothing had ended it before.
func (t *Term) End() (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, t.over = !t.over, true
	if t.timer != nil {
		t.timer.Stop()
	}
	return first
}

// Lose ends the term, and tells the holder.
func (t *Term) Lose() {
	if t.End() {
		close(t.lost)
	}
}

// IsLost says that the holder was told, and tells it if the time is over.
func (t *Term) IsLost() bool {
	if until, ends := t.Expires(); ends && !t.clock.Now().Before(until) {
		t.Lose()
	}
	return signals.Closed(t.lost)
}

// Lost is closed by Lose, and when the time is over.
func (t *Term) Lost() <-chan struct{} { return t.lost }

// Expires is the end, false if there is none.
func (t *Term) Expires() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until, !t.until.IsZero()
}

// Over says that the holder of a lease must not act any more: it was told so, or the end has come by this
// process's clock and what tells of it has not run yet, as after a pause.
func Over(l Lease) bool {
	until, ends := l.Expires()
	return signals.Closed(l.Lost()) || ends && !clock.System().Now().Before(until)
}
