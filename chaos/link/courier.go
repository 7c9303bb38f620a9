package link

import (
	"container/heap"
	"sync"

	"locklab/chaos/toxic"
	"locklab/internal/signals"
)

// courier is one goroutine that passes on what the connections of a host delay, each
// piece at its time.
type courier struct {
	nudge chan struct{} // something is due before what the courier waits for, or it is closed
	done  chan struct{}

	mu     sync.Mutex
	pipes  pipeHeap
	closed bool
}

func newCourier() *courier {
	c := &courier{nudge: make(chan struct{}, 1), done: make(chan struct{})}
	go c.run()
	return c
}

// add has p called at the time; p is not there yet.
func (c *courier) add(p *pipe, due int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.due = due
	heap.Push(&c.pipes, p)
	if c.pipes[0] == p {
		signals.Wake(c.nudge)
	}
}

func (c *courier) run() {
	defer close(c.done)
	for {
		due, waiting, closed := c.next()
		switch {
		case closed:
			return
		case !waiting:
			<-c.nudge
		case toxic.SleepTowards(due, c.nudge):
			if p := c.take(due); p != nil {
				p.deliver(due)
			}
		}
	}
}

func (c *courier) next() (due int64, waiting, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pipes) == 0 {
		return 0, false, c.closed
	}
	return c.pipes[0].due, true, c.closed
}

// take is a pipe that is due by then; another may have come before the one that was next.
func (c *courier) take(by int64) *pipe {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pipes) == 0 || c.pipes[0].due > by {
		return nil
	}
	return heap.Pop(&c.pipes).(*pipe)
}

// close ends the goroutine. No connection may be left.
func (c *courier) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	signals.Wake(c.nudge)
	<-c.done
}

// pipeHeap has the pipe that is due first in front.
type pipeHeap []*pipe

func (h pipeHeap) Len() int           { return len(h) }
func (h pipeHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h pipeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pipeHeap) Push(x any)        { *h = append(*h, x.(*pipe)) }
func (h *pipeHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}
