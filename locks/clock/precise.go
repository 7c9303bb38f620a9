package clock

import (
	"math"
	"sync"
)

// Precise wakes goroutines at exact moments of [Mono]. One alarm with nanosecond resolution serves
// all of them. The runtime polls it like a socket, so it needs no thread of its own.
type Precise struct {
	mu      sync.Mutex
	waiters map[chan struct{}]int64 // the deadline of each; few enough to scan
	next    int64                   // the earliest deadline, for which the alarm is set
	closed  bool
	alarm   *alarm
	done    chan struct{}
}

const never = math.MaxInt64

// NewPrecise starts the goroutine that wakes the others. Close ends it.
func NewPrecise() (*Precise, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	p := &Precise{waiters: map[chan struct{}]int64{}, next: never, alarm: a, done: make(chan struct{})}
	go p.run()
	return p, nil
}

// Close wakes all waiters immediately.
func (p *Precise) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.alarm.set(0) // before unlocking: the goroutine may close the alarm once it has the lock
	}
	p.mu.Unlock()
	<-p.done
}

// After sends on woken at the deadline, a value of [Mono], or when p is closed. Call cancel to stop waiting.
func (p *Precise) After(deadline int64) (woken <-chan struct{}, cancel func()) {
	wake := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || deadline <= Mono() {
		wake <- struct{}{}
		return wake, func() {}
	}
	p.waiters[wake] = deadline
	if deadline < p.next {
		p.next = deadline
		p.alarm.set(deadline)
	}
	return wake, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiters, wake)
	}
}

func (p *Precise) run() {
	defer close(p.done)
	for !p.ring() {
	}
}

// ring waits for the alarm, and wakes the waiters whose deadlines have passed.
func (p *Precise) ring() (closed bool) {
	p.alarm.wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := Mono()
	p.next = never
	for wake, at := range p.waiters {
		if at > now && !p.closed {
			p.next = min(p.next, at)
			continue
		}
		delete(p.waiters, wake)
		wake <- struct{}{} // never blocks: one send into a buffer of one
	}
	if p.closed {
		p.alarm.close()
	} else if p.next != never {
		p.alarm.set(p.next)
	}
	return p.closed
}
