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
	"slices"
	"strings"
	"sync"
)

const (
	// maxLine bounds the memory that a damaged file can ask for. The longest real
	// line is the run's description, a few kilobytes.
	maxLine = 4 << 20
	// blockSize is about how much text is decoded at once.
	blockSize = 64 << 10
	// decoders is how many goroutines decode: more would wait for the one that takes the events.
	decoders = 2
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
		return false, fmt.Errorf("open history: %w%s", err, instead(path))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return ReadFrom(ctx, path, f, take)
}

// instead says what would be right where there is no such history.
func instead(path string) string {
	other := path + ".gz"
	if plain, zipped := strings.CutSuffix(path, ".gz"); zipped {
		other = plain
	}
	if _, err := os.Stat(other); err == nil {
		return fmt.Sprintf(" (there is %s)", other)
	}
	return "; the histories of a run are in its directory, such as DIR/histories/LOCK/SCENARIO.WORKLOAD.1.jsonl"
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
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	empty := make(chan *block, 2*decoders+1)
	for range cap(empty) {
		empty <- &block{}
	}
	var filled, decoded [decoders]chan *block // block n goes to decoder n%decoders
	for i := range decoders {
		filled[i], decoded[i] = make(chan *block, 1), make(chan *block, 1)
		running.Go(func() {
			decoder := NewDecoder()
			for b := range filled[i] {
				b.decode(decoder)
				decoded[i] <- b
			}
			close(decoded[i])
		})
	}
	running.Go(func() {
		r := textReader{name: name, in: in}
		for n, more := 0, true; more; n++ {
			b := <-empty
			more = r.fill(ctx, b)
			filled[n%decoders] <- b
		}
		for _, c := range filled {
			close(c)
		}
	})
	for n := 0; ; n++ {
		b, more := <-decoded[n%decoders]
		if !more {
			return torn, err
		}
		for i := 0; i < len(b.events) && err == nil; i++ {
			if err = take(&b.events[i]); err != nil {
				err = fmt.Errorf("%s:%d: %w", name, b.lines[i], err)
			}
		}
		torn = torn || b.torn
		if err == nil && b.err != nil {
			err = b.err
		}
		if err != nil {
			cancel() // the blocks under way come nevertheless
		}
		empty <- b
	}
}

// block is some whole lines, and their events.
type block struct {
	name   string
	first  int // line, from 1
	text   []byte
	events []Event
	lines  []int // of the events
	torn   bool
	err    error // which follows the text, or the events
}

// textReader cuts a text into blocks.
type textReader struct {
	name string
	in   io.Reader
	rest []byte // of a line that goes on in the next block
	line int    // lines read
}

// fill reads the next block and says whether one more may follow. Only the last may lack its line break.
func (r *textReader) fill(ctx context.Context, b *block) (more bool) {
	b.name, b.first, b.text, b.torn, b.err = r.name, r.line+1, append(b.text[:0], r.rest...), false, nil
	for {
		n, size := 0, len(b.text)
		err := ctx.Err()
		if err == nil {
			b.text = slices.Grow(b.text, blockSize)[:size+blockSize]
			n, err = io.ReadAtLeast(r.in, b.text[size:], 1)
			b.text = b.text[:size+n]
		}
		end := bytes.LastIndexByte(b.text[size:], '\n')
		switch {
		case err == nil && end >= 0:
			end += size + 1
			r.rest = append(r.rest[:0], b.text[end:]...)
			b.text = b.text[:end]
			r.line += bytes.Count(b.text, []byte{'\n'})
			return true
		case err == nil && len(b.text) > maxLine:
			b.text, b.err = nil, fmt.Errorf("%s:%d: a line of more than %d bytes is no event", r.name, b.first, maxLine)
			return false
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			b.torn = errors.Is(err, io.ErrUnexpectedEOF) // a gzip stream without its end
			return false
		default:
			b.text, b.err = nil, fmt.Errorf("read history %s: %w", r.name, err)
			return false
		}
	}
}

// decode makes events of the lines, up to the first that is none.
func (b *block) decode(d *Decoder) {
	b.events, b.lines = b.events[:0], b.lines[:0]
	for line, rest := b.first, b.text; len(rest) > 0; line++ {
		text, after, whole := bytes.Cut(rest, []byte{'\n'})
		if rest, text = after, bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		n := len(b.events)
		b.events, b.lines = slices.Grow(b.events, 1)[:n+1], append(b.lines, line)
		e := &b.events[n]
		err := d.Decode(text, e)
		if err == nil {
			err = e.validate()
		}
		if err == nil {
			continue
		}
		b.events = b.events[:n]
		switch {
		case !whole:
			b.torn = true
		case line == 1: // of another file, such as result.json
			b.err = fmt.Errorf("%s:1: want a history that locklab wrote: %w", b.name, err)
		default:
			b.err = fmt.Errorf("%s:%d: %w", b.name, line, err)
		}
		return
	}
}
