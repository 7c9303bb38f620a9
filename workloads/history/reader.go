package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxLine bounds the memory that a damaged file can ask for. The longest real line, the run's description, has a
	// few kilobytes.
	maxLine = 4 << 20
	// blockSize is about how many bytes are decoded at once.
	blockSize = 64 << 10
	// decoders is how many goroutines decode: more would wait for take.
	decoders = 2
)

// Read passes the events of a history file, gzipped or not, to take, in the order of the file. An event is
// overwritten after take returns; its strings and lists may be kept. Read ends with the context's error when that
// is done, and at the first error of take, to which it adds the file and the line.
//
// Torn says that the end of the last line, or of a gzipped file, is missing: the writer was killed.
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

// instead suggests a history where there is none.
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
	err    error // after these events
}

// textReader cuts a text into blocks.
type textReader struct {
	name string
	in   io.Reader
	rest []byte // of a line that goes on in the next block
	line int    // lines read
}

// fill reads the next block and says whether more may follow. Only the last block may lack its line break.
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

// decode decodes the lines, up to the first that is no event.
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

// Decoder decodes many lines and shares the strings that they repeat: nodes, resources, states. Its memory is
// bounded. It is not safe for concurrent use; the zero value decodes without sharing.
type Decoder struct {
	seed  maphash.Seed
	known []knownString // by hash; a new string replaces the old one
	// The line that is read, in compact JSON without escapes; nil once it was found not to be.
	line []byte
	at   int
}

// knownString has its hash beside it, so that the text of another one need not be fetched from memory.
type knownString struct {
	hash uint64
	text string
}

// knownStrings is the size of the table: a large run repeats a few thousand strings (nodes, groups, clients, open
// rooms).
const knownStrings = 1 << 13

// NewDecoder returns a decoder that shares strings.
func NewDecoder() *Decoder {
	return &Decoder{seed: maphash.MakeSeed(), known: make([]knownString, knownStrings)}
}

// Decode reads one line into e, which it clears first. It skips unknown fields, so that newer files stay readable.
//
// Most lines that this package writes take a fast path, which gives up on anything unusual (white space, escapes,
// fields unknown, rare or in another order). Package json then decides what the line means.
func (d *Decoder) Decode(line []byte, e *Event) error {
	*e = Event{}
	if d.fast(line, e) {
		return nil
	}
	*e = Event{}
	if err := json.Unmarshal(line, e, jsontext.AllowInvalidUTF8(true)); err != nil {
		*e = Event{}
		return fmt.Errorf("decode event: %w", err)
	}
	return nil
}

// fast reads the fields in the order in which [AppendJSON] writes them. Rare fields, from "unreachable" on, are
// left to package json.
func (d *Decoder) fast(line []byte, e *Event) bool {
	d.line, d.at = line, 0
	if !d.skip(`{"kind":"`) {
		return false
	}
	e.Kind = Kind(d.string())
	d.int(`,"at_ns":`, &e.AtNS)
	d.int(`,"from_ns":`, &e.FromNS)
	d.int(`,"sent_ns":`, &e.SentNS)
	d.int(`,"err_ns":`, &e.ErrNS)
	d.uint(`,"seq":`, &e.Seq)
	d.uint(`,"line":`, &e.Line)
	d.text(`,"host":"`, &e.Host)
	d.text(`,"node":"`, &e.Node)
	d.text(`,"state":"`, &e.State)
	d.text(`,"client":"`, &e.Client)
	d.text(`,"hold":"`, &e.Hold)
	d.text(`,"resource":"`, &e.Resource)
	d.text(`,"outcome":"`, &e.Outcome)
	d.text(`,"error":"`, &e.Error)
	d.uint(`,"token":`, &e.Token)
	d.uint(`,"messages":`, &e.Messages)
	d.uint(`,"wakeups":`, &e.Wakeups)
	d.uint(`,"count":`, &e.Count)
	d.uint(`,"version":`, &e.Version)
	d.uint(`,"base":`, &e.Base)
	d.text(`,"room":"`, &e.Room)
	d.text(`,"order":"`, &e.Order)
	d.text(`,"worker":"`, &e.Worker)
	return d.at > 0 && d.skip("}") && d.at == len(line)
}

func (d *Decoder) share(b []byte) string {
	if d.known == nil || len(b) == 0 {
		return string(b)
	}
	hash := maphash.Bytes(d.seed, b)
	slot := &d.known[hash%knownStrings]
	if slot.hash != hash || slot.text != string(b) {
		*slot = knownString{hash, string(b)}
	}
	return slot.text
}

// comes says whether a key is next, and skips it. The third byte rules most keys out.
func (d *Decoder) comes(key string) bool {
	return d.at+2 < len(d.line) && d.line[d.at+2] == key[2] && d.skip(key)
}

func (d *Decoder) skip(written string) bool {
	comes := bytes.HasPrefix(d.line[d.at:], []byte(written))
	if comes {
		d.at += len(written)
	}
	return comes
}

func (d *Decoder) fail() { d.line, d.at = nil, 0 }

func (d *Decoder) text(key string, to *string) {
	if d.comes(key) {
		*to = d.string()
	}
}

func (d *Decoder) uint(key string, to *uint64) {
	if d.comes(key) {
		*to = d.number()
	}
}

func (d *Decoder) int(key string, to *int64) {
	if d.comes(key) {
		sign := int64(1)
		if d.skip("-") {
			sign = -1
		}
		*to = sign * int64(d.number()) //nolint:gosec // at most 18 digits
	}
}

// string reads up to the quote: valid UTF-8 without escapes.
func (d *Decoder) string() string {
	rest, high := d.line[d.at:], byte(0)
	for i, c := range rest {
		if c == '"' && (high < utf8.RuneSelf || utf8.Valid(rest[:i])) {
			d.at += i + 1
			return d.share(rest[:i])
		}
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		high |= c
	}
	d.fail()
	return ""
}

// number reads up to 18 digits; longer ones are left to package json.
func (d *Decoder) number() (n uint64) {
	digits := d.line[d.at:]
	for i, c := range digits {
		if c < '0' || c > '9' {
			digits = digits[:i]
			break
		}
		n = n*10 + uint64(c-'0')
	}
	if d.at += len(digits); len(digits) == 0 || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		d.fail()
	}
	return n
}

const (
	// maxTimeNS bounds every time and error bound, either way, so that sums of a few do not overflow.
	maxTimeNS = 1 << 60 // 36 years
	// maxSpanNS bounds the parts of a run.
	maxSpanNS = int64(1000 * time.Hour)
	// maxCount bounds the counts that are added up.
	maxCount = 1 << 40
)

// within refuses a figure out of a range. The error names the field, as in the file.
func within[T int64 | uint64](field string, have, low, high T) error {
	if have < low || have > high {
		return fmt.Errorf("%s: have %d, want %d to %d", field, have, low, high)
	}
	return nil
}

// validate refuses figures too large to compute with, and files of another version.
func (e *Event) validate() error {
	for i, ns := range [...]int64{e.AtNS, e.FromNS, e.SentNS} {
		if err := within([]string{"at_ns", "from_ns", "sent_ns"}[i], ns, -maxTimeNS, maxTimeNS); err != nil {
			return err
		}
	}
	for i, n := range [...]uint64{e.Count, e.Messages, e.Wakeups, e.Version, e.Base} {
		if err := within([]string{"count", "messages", "wakeups", "version", "base"}[i], n, 0, maxCount); err != nil {
			return err
		}
	}
	if err := within("err_ns", e.ErrNS, 0, maxTimeNS); err != nil || e.Run == nil {
		return err
	}
	return e.Run.validate()
}

func (r *Run) validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("run.schema: have %q, want %q: another version of locklab wrote this", r.Schema, Schema)
	}
	if !(r.OfferedPS >= 0) {
		return fmt.Errorf("run.offered_per_s: have %v, want 0 or more", r.OfferedPS)
	}
	spans := map[string]int64{
		"run.warmup_ns": r.WarmupNS, "run.duration_ns": r.DurationNS, "run.lease_ns": r.LeaseNS, "run.second_ns": r.SecondNS,
	}
	for i, p := range r.Planned {
		spans[fmt.Sprintf("run.planned[%d].at_ns", i)], spans[fmt.Sprintf("run.planned[%d].for_ns", i)] = p.AtNS, p.ForNS
	}
	for field, ns := range spans {
		if err := within(field, ns, 0, maxSpanNS); err != nil {
			return err
		}
	}
	return nil
}
