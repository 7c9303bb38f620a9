package process

import (
	"fmt"
	"io"
	"sync"

	"locklab/locks/clock"
	"locklab/workloads/history"
)

// maxQueue is how many bytes of events wait in memory before Record waits too.
const maxQueue = 1 << 20

// Recorder writes events as JSON lines from one goroutine, everything that is
// there at once in one write. It is safe for concurrent use.
type Recorder struct {
	host, node string
	out        io.Writer

	mu      sync.Mutex
	changed sync.Cond // the queue was filled or emptied
	queue   []byte
	spare   []byte // the queue's other buffer
	added   uint64 // bytes ever queued
	written uint64 // bytes ever written
	seq     uint64 // events ever recorded
	closed  bool
	err     error
	done    chan struct{}
}

var _ history.Recorder = (*Recorder)(nil)

// NewRecorder starts to record to out for a node, whose name and host it puts into
// events that name none. Close ends it.
func NewRecorder(out io.Writer, host, node string) *Recorder {
	r := &Recorder{host: host, node: node, out: out, done: make(chan struct{})}
	r.changed.L = &r.mu
	go r.run()
	return r
}

// Record queues the event, numbered, and stamped with the time if it has none. It blocks only
// while a megabyte of earlier events waits for the agent. After Close, or once a
// write has failed, events go nowhere: Flush and Close say so.
func (r *Recorder) Record(e history.Event) {
	if e.AtNS == 0 {
		e.AtNS = clock.Mono()
	}
	if e.Node == "" {
		e.Node = r.node
	}
	if e.Host == "" {
		e.Host = r.host
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) >= maxQueue && !r.closed && r.err == nil {
		r.changed.Wait()
	}
	if r.closed || r.err != nil {
		return
	}
	r.seq++
	e.Seq = r.seq
	before := len(r.queue)
	r.queue = append(history.AppendJSON(r.queue, &e), '\n')
	r.added += uint64(len(r.queue) - before) //nolint:gosec // a queue only grows here
	r.changed.Broadcast()
}

// Flush blocks until all events recorded before it have reached the agent's pipe,
// where they survive the end of this process.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for until := r.added; r.written < until && r.err == nil; {
		r.changed.Wait()
	}
	return r.err
}

// Close writes what is queued and ends the goroutine.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.changed.Broadcast()
	r.mu.Unlock()
	<-r.done
	return r.Flush()
}

func (r *Recorder) run() {
	defer close(r.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for len(r.queue) == 0 && !r.closed && r.err == nil {
			r.changed.Wait()
		}
		if len(r.queue) == 0 || r.err != nil {
			return
		}
		batch := r.queue
		r.queue, r.spare = r.spare[:0], nil
		r.mu.Unlock()
		_, err := r.out.Write(batch)
		r.mu.Lock()
		r.spare = batch
		r.written += uint64(len(batch))
		if err != nil {
			r.err = fmt.Errorf("write events: %w", err) // the first one: nothing is written after it
		}
		r.changed.Broadcast()
	}
}
