package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/locks/clock"
)

// maxWaiting is how many bytes of events may wait in memory before Record blocks.
const maxWaiting = 1 << 20

// Writer writes events as JSON lines to a file or a pipe, from one goroutine, all waiting ones in one write. It
// never drops an event before an error. It is safe for concurrent use.
type Writer struct {
	out        io.Writer
	host, node string // of its events; "" for the controller's file
	done       chan struct{}
	failed     chan struct{} // closed by the first error

	mu             sync.Mutex
	changed        sync.Cond // events were added, or written
	waiting, spare []byte
	added, written uint64 // bytes, ever
	numbered       uint64 // events, ever
	err            error
	closed         bool
}

var _ Recorder = (*Writer)(nil)

// Create starts a new history file. An existing file is an error: a history is
// evidence and is never overwritten.
func Create(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // others may read it
	if err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	return NewWriter(f, "", ""), nil
}

// NewWriter writes to out, which it closes at the end if that is an io.Closer. With a node, events without a node,
// host or time get its own and the present time, and are numbered as those of one process.
func NewWriter(out io.Writer, host, node string) *Writer {
	w := &Writer{out: out, host: host, node: node, done: make(chan struct{}), failed: make(chan struct{})}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// Record adds one event, and numbers it if no process has. It blocks only while a megabyte of earlier events
// waits. After Close, or an error, which Flush and Close return, events are dropped.
func (w *Writer) Record(e Event) {
	if w.node != "" {
		e.AtNS, e.Host, e.Node = cmp.Or(e.AtNS, clock.Mono()), cmp.Or(e.Host, w.host), cmp.Or(e.Node, w.node)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) >= maxWaiting && w.err == nil && !w.closed {
		w.changed.Wait()
	}
	if w.err != nil || w.closed {
		return
	}
	switch {
	case w.node != "":
		w.numbered++
		e.Seq = w.numbered
	case e.Seq == 0:
		w.numbered++
		e.Line = w.numbered
	}
	before := len(w.waiting)
	w.waiting = append(AppendJSON(w.waiting, &e), '\n')
	w.added += uint64(len(w.waiting) - before) //nolint:gosec // it only grows here
	w.changed.Broadcast()
}

// Flush blocks until all earlier events are written: in a file, or in a pipe, they survive the end of this
// process.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for until := w.added; w.written < until && w.err == nil; {
		w.changed.Wait()
	}
	return w.err
}

// Failed is closed when a write failed: later events are lost.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// Close writes what is left, closes the file and returns all errors. Calling it again returns the same.
func (w *Writer) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if out, closes := w.out.(io.Closer); closes && !again {
		w.fail(out.Close())
	}
	return w.err
}

// run writes until the end, or an error.
func (w *Writer) run() {
	defer close(w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.waiting) == 0 && !w.closed && w.err == nil {
			w.changed.Wait()
		}
		if len(w.waiting) == 0 || w.err != nil {
			return
		}
		batch := w.waiting
		w.waiting, w.spare = w.spare[:0], nil
		w.mu.Unlock()
		_, err := w.out.Write(batch)
		w.mu.Lock()
		w.spare = batch
		w.written += uint64(len(batch))
		w.fail(err)
		w.changed.Broadcast()
	}
}

// fail keeps errors. The caller holds mu.
func (w *Writer) fail(err error) {
	switch {
	case err == nil:
	case w.err == nil:
		w.err = fmt.Errorf("write history: %w", err)
		close(w.failed)
	default:
		w.err = errors.Join(w.err, err)
	}
}

// AppendJSON appends e as one JSON object, without a line break, to dst. Bytes that are not UTF-8
// become U+FFFD.
func AppendJSON(dst []byte, e *Event) []byte {
	text, _ := json.Marshal(e, jsontext.AllowInvalidUTF8(true)) // names, whole numbers, and rates that were checked
	return append(dst, text...)
}
