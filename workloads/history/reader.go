package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// maxLine bounds the memory that a damaged file can ask for. The longest real
	// line is the run's description, a few kilobytes.
	maxLine = 4 << 20
	// batchSize is how many events are decoded at once, while those before are taken.
	batchSize = 256
)

// Read passes the events of a history file, gzipped or not, to take, in the order of the file. An event
// is overwritten after take returns; its strings and lists may be kept. Read ends with the context's error
// when that is done, and at the first error of take, which it tells with the file and the line.
//
// Torn says that the last line, or the end of a gzipped file, was missing: the writer was killed.
func Read(ctx context.Context, path string, take func(*Event) error) (torn bool, err error) {
	// Opening a pipe would wait for a writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return false, fmt.Errorf("open history: %s is not a regular file: want a history that locklab wrote", path)
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file to read
	if err != nil {
		return false, fmt.Errorf("open history: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return ReadFrom(ctx, path, f, take)
}

// ReadFrom reads a history as [Read] does. The name is for errors.
func ReadFrom(ctx context.Context, name string, in io.Reader, take func(*Event) error) (torn bool, err error) {
	buffered := bufio.NewReader(in)
	in = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if in, err = gzip.NewReader(buffered); err != nil {
			return false, fmt.Errorf("read history %s: %w", name, err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	filled, empty := make(chan *batch), make(chan *batch, 2)
	for range cap(empty) {
		empty <- &batch{events: make([]Event, 0, batchSize), lines: make([]int, 0, batchSize)}
	}
	go func() {
		defer close(filled)
		r := lineReader{name: name, in: bufio.NewReaderSize(in, maxLine), decoder: NewDecoder()}
		for more := true; more; {
			b := <-empty
			more = r.fill(ctx, b)
			filled <- b
		}
	}()
	for b := range filled {
		for i := 0; i < len(b.events) && err == nil; i++ {
			if err = take(&b.events[i]); err != nil {
				err = fmt.Errorf("%s:%d: %w", name, b.lines[i], err)
			}
		}
		torn = torn || b.torn
		if err == nil {
			err = b.err
		}
		if err != nil {
			cancel() // a batch that is under way comes nevertheless
		}
		empty <- b
	}
	return torn, err
}

// batch is some events, and what follows them.
type batch struct {
	events []Event
	lines  []int // of the events, from 1
	torn   bool
	err    error
}

// lineReader makes events of lines.
type lineReader struct {
	name    string
	in      *bufio.Reader
	line    int // lines read
	decoder *Decoder
}

// fill decodes a batch and says whether one more may follow. Only the last line may lack its line break.
func (r *lineReader) fill(ctx context.Context, b *batch) (more bool) {
	b.events, b.lines, b.torn, b.err = b.events[:0], b.lines[:0], false, nil
	for len(b.events) < batchSize {
		r.line++
		text, err := r.in.ReadSlice('\n')
		cut := errors.Is(err, io.ErrUnexpectedEOF) // a gzip stream without its end
		switch ends := cut || errors.Is(err, io.EOF); {
		case ctx.Err() != nil:
			b.err = ctx.Err()
		case errors.Is(err, bufio.ErrBufferFull):
			b.err = fmt.Errorf("%s:%d: a line of more than %d bytes is no event", r.name, r.line, maxLine)
		case err != nil && !ends:
			b.err = fmt.Errorf("read history %s: %w", r.name, err)
		case ends:
			b.torn = r.decode(text, b) != nil || cut
			return false
		default:
			b.err = r.decode(text, b)
		}
		if b.err != nil {
			return false
		}
	}
	return true
}

// decode adds the event of a line; a blank line has none.
func (r *lineReader) decode(text []byte, b *batch) error {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	n := len(b.events)
	e := &b.events[:n+1][n]
	err := r.decoder.Decode(text, e)
	if err == nil {
		err = e.validate()
	}
	switch {
	case err == nil:
		b.events, b.lines = b.events[:n+1], append(b.lines, r.line)
		return nil
	case r.line == 1: // of another file, such as result.json
		return fmt.Errorf("%s:1: want a history that locklab wrote: %w", r.name, err)
	}
	return fmt.Errorf("%s:%d: %w", r.name, r.line, err)
}
