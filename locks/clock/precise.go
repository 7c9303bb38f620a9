package clock

import (
	"math"
	"sync"
)

// Precise wakes goroutines at exact moments of [Mono]. One alarm of nanoseconds, which
// wakes the process as a socket does, serves all of them: no thread of its own has to be
// woken, neither to set it nor when it goes off.
type Precise struct {
	mu      sync.Mutex
	waiters map[chan struct{}]int64 // until when each waits; few enough to look at all
	next    int64                   // the earliest of them, for which the alarm is set
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

// Close wakes all at once, as if their deadlines had come.
func (p *Precise) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.alarm.set(0) // under the lock: the goroutine closes the alarm under it too
	}
	p.mu.Unlock()
	<-p.done
}

// After sends at the deadline, a value of [Mono], or when p is closed. Call cancel when it is of
// no use any more.
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

// ring waits for the alarm, and wakes all whose moment has come.
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
