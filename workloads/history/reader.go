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
	"strings"
)

// maxLine bounds the memory that a damaged file can ask for. The longest real
// line is the run's description, a few kilobytes.
const maxLine = 4 << 20

// Reader reads a history event by event. It is not safe for concurrent use.
type Reader struct {
	name    string
	in      *bufio.Reader
	decoder *Decoder
	file    io.Closer // nil if it is the caller's
	long    []byte    // a line longer than the buffer
	line    int
	torn    bool
}

// Open opens a history file, gzipped or not (its first bytes tell). Reading ends with
// the context's error when that is done.
func Open(ctx context.Context, path string) (*Reader, error) {
	// Opening a pipe would wait for a writer.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open history: %s is not a regular file: want a history that locklab wrote", path)
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file to read
	if err != nil {
		return nil, fmt.Errorf("open history: %w%s", err, instead(path))
	}
	r, err := NewReader(ctx, path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
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

// NewReader reads a history from in, gzipped or not. The name is for errors.
func NewReader(ctx context.Context, name string, in io.Reader) (*Reader, error) {
	const size = 256 << 10
	r := &Reader{name: name, in: bufio.NewReaderSize(until(ctx, in), size), decoder: NewDecoder()}
	magic, err := r.in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read history %s: %w", name, err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	zip, err := gzip.NewReader(r.in)
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", name, err)
	}
	r.in = bufio.NewReaderSize(until(ctx, zip), size) // zip has nothing to close
	return r, nil
}

// until reads from in as long as the context lasts: once a buffer is soon enough, and
// costs nothing.
func until(ctx context.Context, in io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return in.Read(b)
	})
}

type readFunc func(b []byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// Next reads the next event into e, whose strings and lists may be kept. It
// returns io.EOF at the end, also when the last line was torn: see [Reader.Torn].
func (r *Reader) Next(e *Event) error {
	for {
		line, whole, err := r.read()
		if err != nil {
			return err
		}
		r.line++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err = r.decoder.Decode(line, e); err == nil {
			err = e.validate()
		}
		switch {
		case err == nil:
			return nil
		case !whole:
			r.torn = true
			return io.EOF
		case r.line == 1: // of another file, such as result.json
			return fmt.Errorf("%s:1: want a history that locklab wrote: %w", r.name, err)
		default:
			return fmt.Errorf("%s:%d: %w", r.name, r.line, err)
		}
	}
}

// Torn says, after the end, that the last line (or the end of a gzipped file) was
// missing: the writer was killed. What came before is whole.
func (r *Reader) Torn() bool { return r.torn }

// Close closes the file that [Open] opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// read returns the next line and whether its line break was there.
func (r *Reader) read() (line []byte, whole bool, err error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case err == nil && len(r.long) == 0:
			return part, true, nil
		case err == nil:
			r.long = append(r.long, part...)
			return r.long, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if r.long = append(r.long, part...); len(r.long) > maxLine {
				return nil, false, fmt.Errorf("%s:%d: a line of more than %d bytes is no event", r.name, r.line+1, maxLine)
			}
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if errors.Is(err, io.ErrUnexpectedEOF) {
				r.torn = true // a gzip stream without its end
			}
			if r.long = append(r.long, part...); len(r.long) == 0 {
				return nil, false, io.EOF
			}
			return r.long, false, nil
		default:
			return nil, false, fmt.Errorf("read history %s: %w", r.name, err)
		}
	}
}
