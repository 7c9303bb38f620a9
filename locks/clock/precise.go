package clock

import (
	"container/heap"
	"sync"
)

// Precise wakes goroutines at exact moments of [Mono]. One alarm of nanoseconds, which
// wakes the process as a socket does, serves all of them: no thread of its own has to be
// woken, neither to set it nor when it goes off.
type Precise struct {
	mu      sync.Mutex
	waiters wakeHeap
	closed  bool
	alarm   *alarm
	done    chan struct{}
}

// NewPrecise starts the goroutine that wakes the others. Close ends it.
func NewPrecise() (*Precise, error) {
	a, err := newAlarm()
	if err != nil {
		return nil, err
	}
	p := &Precise{alarm: a, done: make(chan struct{})}
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
	w := &waiter{at: deadline, wake: make(chan struct{}, 1), index: -1}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || deadline <= Mono() {
		w.wake <- struct{}{}
		return w.wake, func() {}
	}
	heap.Push(&p.waiters, w)
	if p.waiters[0] == w {
		p.alarm.set(deadline)
	}
	return w.wake, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if w.index >= 0 {
			heap.Remove(&p.waiters, w.index)
		}
	}
}

func (p *Precise) run() {
	defer close(p.done)
	for {
		p.alarm.wait()
		p.mu.Lock()
		if p.closed {
			for _, w := range p.waiters {
				w.index = -1
				w.wake <- struct{}{}
			}
			p.waiters = nil
			p.alarm.close()
			p.mu.Unlock()
			return
		}
		now := Mono()
		for len(p.waiters) > 0 && p.waiters[0].at <= now {
			w := heap.Pop(&p.waiters).(*waiter)
			w.wake <- struct{}{} // never blocks: one send into a buffer of one
		}
		if len(p.waiters) > 0 {
			p.alarm.set(p.waiters[0].at)
		}
		p.mu.Unlock()
	}
}

type waiter struct {
	at    int64
	index int // in the heap, -1 once it left
	wake  chan struct{}
}

type wakeHeap []*waiter

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *wakeHeap) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *wakeHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.index = -1
	return w
}
