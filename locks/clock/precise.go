package clock

import (
	"container/heap"
	"sync"
)

// Precise wakes goroutines at exact moments of [Mono]. One thread, which sleeps
// with nanosecond timeouts, serves all of them, so a wake-up costs two thread
// switches and no busy waiting.
type Precise struct {
	mu      sync.Mutex
	waiters wakeHeap
	closed  bool
	bell    bell // interrupts the sleeping thread
	done    chan struct{}
}

// NewPrecise starts the thread. Close ends it.
func NewPrecise() (*Precise, error) {
	b, err := newBell()
	if err != nil {
		return nil, err
	}
	p := &Precise{bell: b, done: make(chan struct{})}
	go p.run()
	return p, nil
}

// Close ends the thread and wakes everybody who still sleeps.
func (p *Precise) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.bell.ring() // under the lock: the thread closes the bell under it too
	}
	p.mu.Unlock()
	<-p.done
}

// SleepUntil returns at the deadline, a value of [Mono], with true, or earlier
// with false because stop was closed or p was. A nil stop never ends the sleep.
func (p *Precise) SleepUntil(deadline int64, stop <-chan struct{}) bool {
	if deadline <= Mono() {
		return true
	}
	w := &waiter{at: deadline, wake: make(chan bool, 1)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	heap.Push(&p.waiters, w)
	if p.waiters[0] == w {
		p.bell.ring()
	}
	p.mu.Unlock()
	select {
	case onTime := <-w.wake:
		return onTime
	case <-stop:
		p.mu.Lock()
		if w.index >= 0 {
			heap.Remove(&p.waiters, w.index)
		}
		p.mu.Unlock()
		return false
	}
}

func (p *Precise) run() {
	defer close(p.done)
	unpin := pinThread()
	defer unpin()
	for {
		p.mu.Lock()
		if p.closed {
			for _, w := range p.waiters {
				w.index = -1
				w.wake <- false
			}
			p.waiters = nil
			p.bell.close()
			p.mu.Unlock()
			return
		}
		now := Mono()
		for len(p.waiters) > 0 && p.waiters[0].at <= now {
			w := heap.Pop(&p.waiters).(*waiter)
			w.wake <- true // never blocks: one send into a buffer of one
		}
		next := int64(-1)
		if len(p.waiters) > 0 {
			next = p.waiters[0].at
		}
		p.mu.Unlock()
		p.bell.wait(next)
	}
}

type waiter struct {
	at    int64
	index int // in the heap, -1 once it left
	wake  chan bool
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
