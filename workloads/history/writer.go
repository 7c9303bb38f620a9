package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

const (
	// flushEvery bounds what a killed run loses.
	flushEvery = 100 * time.Millisecond
	// flushAt starts a flush early, so that writes stay of a size that disks like.
	flushAt = 256 << 10
	// maxBuffered makes recorders wait when the disk does not keep up at all: a
	// history with holes would be worse than a slow run.
	maxBuffered = 32 << 20
)

// Writer appends events to a file. It is safe for concurrent use. Events are
// buffered and written by one goroutine, at the latest 100 ms after they were
// recorded; [Writer.Close] writes the rest.
type Writer struct {
	out  io.WriteCloser
	full chan struct{} // asks for an early flush
	stop chan struct{}
	done chan struct{}
	lost chan struct{} // closed by the first error

	mu      sync.Mutex
	drained sync.Cond // the buffer was taken by the flusher, or failed
	buf     []byte
	lines   uint64 // numbered so far
	err     error
	closed  bool
}

var _ Recorder = (*Writer)(nil)

// Create starts a new history file. An existing file is an error: a history is
// evidence and is never overwritten.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // histories are meant to be read by others
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	return NewWriter(f, clock.System()), nil
}

// NewWriter writes a history to out, which it closes at the end.
func NewWriter(out io.WriteCloser, clk clock.Clock) *Writer {
	w := &Writer{
		out:  out,
		full: make(chan struct{}, 1),
		stop: make(chan struct{}),
		done: make(chan struct{}),
		lost: make(chan struct{}),
	}
	w.drained.L = &w.mu
	go w.run(clk)
	return w
}

// Record adds one event, numbered if no process has done so. After an error, and after Close, events are dropped;
// the error is reported by [Writer.Err] and [Writer.Close].
func (w *Writer) Record(e Event) {
	w.mu.Lock()
	for len(w.buf) >= maxBuffered && w.err == nil && !w.closed {
		w.drained.Wait()
	}
	if w.err != nil || w.closed {
		w.mu.Unlock()
		return
	}
	if e.Seq == 0 {
		w.lines++
		e.Line = w.lines
	}
	w.buf = append(AppendJSON(w.buf, &e), '\n')
	full := len(w.buf) >= flushAt
	w.mu.Unlock()
	if full {
		signals.Wake(w.full)
	}
}

// Err is the first error of a write, if any.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Failed is closed when a write failed: what is recorded from then on is lost.
func (w *Writer) Failed() <-chan struct{} { return w.lost }

// Close writes what is left, closes the file and returns the first error of all.
// Calling it again returns the same.
func (w *Writer) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.drained.Broadcast()
	w.mu.Unlock()
	if first {
		close(w.stop)
	}
	<-w.done
	return w.Err()
}

func (w *Writer) run(clk clock.Clock) {
	defer close(w.done)
	timer := clk.NewTimer(flushEvery)
	defer timer.Stop()
	var spare []byte
	for {
		stopping := false
		select {
		case <-timer.C():
		case <-w.full:
		case <-w.stop:
			stopping = true
		}
		spare = w.flush(spare)
		if stopping {
			w.fail(w.out.Close())
			return
		}
		timer.Reset(flushEvery)
	}
}

// flush swaps the buffer for the spare one, so that recorders never wait for the
// disk, and writes it.
func (w *Writer) flush(spare []byte) []byte {
	w.mu.Lock()
	batch := w.buf
	w.buf = spare[:0]
	w.drained.Broadcast()
	w.mu.Unlock()
	if len(batch) > 0 {
		_, err := w.out.Write(batch)
		w.fail(err)
	}
	return batch
}

func (w *Writer) fail(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	if w.err == nil {
		w.err = fmt.Errorf("write history: %w", err)
		close(w.lost)
	} else {
		w.err = errors.Join(w.err, err)
	}
	w.drained.Broadcast()
	w.mu.Unlock()
}
