package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"locklab/locks/clock"
)

// flushEvery bounds what a killed run loses.
const flushEvery = 100 * time.Millisecond

// Writer appends events to a file. It is safe for concurrent use. Events are
// buffered and written by one goroutine, at the latest 100 ms after they were
// recorded; [Writer.Close] writes the rest.
type Writer struct {
	out  io.WriteCloser
	stop chan struct{}
	done chan struct{}
	lost chan struct{} // closed by the first error

	mu     sync.Mutex
	buf    []byte
	lines  uint64 // numbered so far
	err    error
	closed bool
}

var _ Recorder = (*Writer)(nil)

// Create starts a new history file. An existing file is an error: a history is
// evidence and is never overwritten.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // others may read it
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	return NewWriter(f), nil
}

// NewWriter writes a history to out, which it closes at the end.
func NewWriter(out io.WriteCloser) *Writer {
	w := &Writer{out: out, stop: make(chan struct{}), done: make(chan struct{}), lost: make(chan struct{})}
	go w.run()
	return w
}

// Record adds one event, numbered if no process has done so. After an error, and after Close, events are dropped;
// the error is reported by [Writer.Err] and [Writer.Close].
func (w *Writer) Record(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		return
	}
	if e.Seq == 0 {
		w.lines++
		e.Line = w.lines
	}
	w.buf = append(AppendJSON(w.buf, &e), '\n')
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
	if !w.closed {
		w.closed = true
		close(w.stop)
	}
	w.mu.Unlock()
	<-w.done
	return w.Err()
}

func (w *Writer) run() {
	defer close(w.done)
	var spare []byte
	for {
		_, stopping := clock.Await(clock.System(), flushEvery, w.stop)
		spare = w.flush(spare)
		if stopping {
			w.fail(w.out.Close())
			return
		}
	}
}

// flush swaps the buffer for the spare one, so that recorders never wait for the
// disk, and writes it.
func (w *Writer) flush(spare []byte) []byte {
	w.mu.Lock()
	batch := w.buf
	w.buf = spare[:0]
	w.mu.Unlock()
	if len(batch) > 0 {
		_, err := w.out.Write(batch)
		w.fail(err)
	}
	return batch
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
	case w.err == nil:
		w.err = fmt.Errorf("write history: %w", err)
		close(w.lost)
	default:
		w.err = errors.Join(w.err, err)
	}
}
