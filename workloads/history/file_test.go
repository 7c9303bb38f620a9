package history_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	w, err := history.Create(path)
	must.Do(t, err)
	w.Record(history.Event{Kind: history.KindMatch, AtNS: 1})
	w.Record(history.Event{Kind: history.KindRoom, AtNS: 2, Seq: 7})
	w.Record(history.Event{Kind: history.KindMatch, AtNS: 3})
	must.Do(t, w.Close())
	events, torn, err := historytest.ReadFile(t.Context(), path)
	if err != nil || torn || len(events) != 3 || events[0].Line != 1 || events[1].Line != 0 || events[1].Seq != 7 || events[2].Line != 2 {
		t.Fatalf("got %+v, torn %v, %v", events, torn, err)
	}
	if _, err := history.Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing history was opened for writing: %v", err)
	}
}

// gate is a pipe that is read only when the test says so.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
	max  int
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.max = max(g.max, len(p))
	return g.got.Write(p)
}

func TestWriterNeverDropsAndKeepsOrder(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	r := history.NewWriter(g, "h", "n")
	const writers, each = 8, 4000 // more than the queue holds, so Record has to wait
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r.Record(history.Event{Kind: history.KindRoom, AtNS: int64(i + 1), Client: fmt.Sprint(w), Order: strings.Repeat("x", 40)})
			}
		})
	}
	close(g.open)
	wg.Wait()
	must.Do(t, r.Flush())
	g.mu.Lock()
	var events []history.Event
	_, err := history.ReadFrom(t.Context(), "pipe", &g.got, func(e *history.Event) error { events = append(events, *e); return nil })
	g.mu.Unlock()
	must.Do(t, err)
	last := map[string]int64{}
	for _, e := range events {
		if e.AtNS != last[e.Client]+1 {
			t.Fatalf("writer %s: event %d after %d", e.Client, e.AtNS, last[e.Client])
		}
		last[e.Client] = e.AtNS
	}
	if len(events) != writers*each {
		t.Errorf("%d events, want %d", len(events), writers*each)
	}
	if g.max <= 200 {
		t.Errorf("the longest write had %d bytes: events were not gathered", g.max)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	r.Record(history.Event{}) // does nothing
}

func TestWriterWaitsWhenTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		r := history.NewWriter(g, "h", "n")
		recorded := 0
		go func() {
			for range 8 { // two fill the queue; one or two more may be being written
				r.Record(history.Event{Kind: history.KindRoom, Order: strings.Repeat("x", 2<<20/3)})
				recorded++
			}
		}()
		synctest.Wait()
		if recorded < 2 || recorded > 4 {
			t.Errorf("%d events were taken while nobody reads, want 2 to 4", recorded)
		}
		close(g.open)
		synctest.Wait()
		if recorded != 8 {
			t.Errorf("%d events were taken in the end, want 8", recorded)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWriterReportsAFailedWrite(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	_ = r.Close()
	rec := history.NewWriter(w, "h", "n")
	rec.Record(history.Event{Kind: history.KindRoom})
	if err := rec.Flush(); err == nil {
		t.Error("a write into a broken pipe went unnoticed")
	}
	rec.Record(history.Event{Kind: history.KindRoom}) // does not hang
	if err := rec.Close(); err == nil {
		t.Error("Close forgot the error")
	}
	_ = w.Close()
}

type sink struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	err    error
	closed int
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	return s.buf.Write(p)
}

func (s *sink) Close() error { s.closed++; return nil }

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func TestWriterWritesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		w := history.NewWriter(out, "", "")
		w.Record(history.Event{Kind: history.KindPhase, State: "warmup"})
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, "warmup") {
			t.Errorf("the file has %q", got)
		}
		must.Do(t, w.Close())
	})
}

func TestWriterErrorsAreSticky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		out := &sink{err: full}
		w := history.NewWriter(out, "", "")
		w.Record(history.Event{})
		for range 3 {
			if err := w.Close(); !errors.Is(err, full) {
				t.Errorf("Close: %v", err)
			}
		}
		w.Record(history.Event{}) // dropped, not a panic
		<-w.Failed()
		if err := w.Flush(); !errors.Is(err, full) || out.closed != 1 {
			t.Errorf("Flush: %v, closed %d times", err, out.closed)
		}
	})
}

func TestReaderForgivesOnlyATornEnd(t *testing.T) {
	const a, b = `{"kind":"match","at_ns":1}`, `{"kind":"match","at_ns":2}`
	for _, c := range []struct {
		name, text string
		events     int
		torn       bool
		wantErr    string
	}{
		{"empty", "", 0, false, ""},
		{"whole", a + "\n" + b + "\n", 2, false, ""},
		{"no last break but whole", a + "\n" + b, 2, false, ""},
		{"torn", a + "\n" + b[:len(b)-3], 1, true, ""},
		{"only a torn line", `{"ki`, 0, true, ""},
		{"blank lines", a + "\n\n" + b + "\n\n", 2, false, ""},
		{"broken in the middle", a + "\n" + b[:9] + "\n" + a + "\n", 1, false, "h.jsonl:2: "},
		{"broken at the end but with its break", a + "\n" + b[:9] + "\n", 1, false, "h.jsonl:2: "},
	} {
		for _, zipped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/gzip=%v", c.name, zipped), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "h.jsonl")
				text := []byte(c.text)
				if zipped {
					text = gzipped(t, text)
				}
				testfile.Write(t, path, text)
				events, torn, err := historytest.ReadFile(t.Context(), path)
				if c.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), c.wantErr) {
						t.Fatalf("error %v, want one with %q", err, c.wantErr)
					}
					return
				}
				if err != nil || torn != c.torn || len(events) != c.events {
					t.Fatalf("got %d events, torn %v, %v", len(events), torn, err)
				}
			})
		}
	}
}

func TestTornGzip(t *testing.T) {
	var text bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&text, `{"kind":"match","at_ns":%d,"room":"%x"}`+"\n", i+1, i*i*i)
	}
	zipped := gzipped(t, text.Bytes())
	n := int64(0)
	torn, err := history.ReadFrom(t.Context(), "torn.gz", bytes.NewReader(zipped[:len(zipped)/2]), func(e *history.Event) error {
		if n++; e.AtNS != n {
			t.Errorf("event %d is %+v", n, e)
		}
		return nil
	})
	if err != nil || !torn || n == 0 {
		t.Errorf("%d events, torn %v, %v", n, torn, err)
	}
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	must.Do(t, z.Close())
	return buf.Bytes()
}

func TestReaderBoundsLines(t *testing.T) {
	_, err := history.ReadFrom(t.Context(), "long", endless{}, func(*history.Event) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "long:1: a line of more than") {
		t.Errorf("an endless line gave %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestFiguresThatCannotBeCountedWith: an error bound of 2^63-1 used to overflow, and
// made a violation of a doubt.
func TestFiguresThatCannotBeCountedWith(t *testing.T) {
	for line, want := range map[string]string{
		`{"kind":"match","at_ns":9223372036854775807}`:                                  "at_ns: have 9223372036854775807, want -1152921504606846976 to",
		`{"kind":"match","at_ns":-9223372036854775808}`:                                 "at_ns: have -9223372036854775808",
		`{"kind":"match","at_ns":1,"from_ns":4611686018427387904}`:                      "from_ns: have 4611686018427387904",
		`{"kind":"match","at_ns":1,"sent_ns":-4611686018427387904}`:                     "sent_ns: have -4611686018427387904",
		`{"kind":"match","at_ns":1,"err_ns":9223372036854775807}`:                       "err_ns: have 9223372036854775807, want 0 to",
		`{"kind":"match","at_ns":1,"err_ns":-1}`:                                        "err_ns: have -1",
		`{"kind":"match","at_ns":1,"count":18446744073709551615}`:                       "count: have 18446744073709551615",
		`{"kind":"match","at_ns":1,"messages":18446744073709551615}`:                    "messages: have 18446744073709551615",
		`{"kind":"run","run":{"schema":"locklab/history/v9"}}`:                          `run.schema: have "locklab/history/v9", want "locklab/history/v1"`,
		`{"kind":"run","run":{}}`:                                                       `run.schema: have ""`,
		`{"kind":"run","run":{"schema":"locklab/history/v1","duration_ns":-1}}`:         "run.duration_ns: have -1",
		`{"kind":"run","run":{"schema":"locklab/history/v1","warmup_ns":1e18}}`:         "warmup_ns",
		`{"kind":"run","run":{"schema":"locklab/history/v1","offered_per_s":-1}}`:       "run.offered_per_s: have -1",
		`{"kind":"run","run":{"schema":"locklab/history/v1","planned":[{"at_ns":-5}]}}`: "run.planned[0].at_ns: have -5",
	} {
		n, text := 0, `{"kind":"phase","at_ns":1}`+"\n"+line+"\n"
		_, err := history.ReadFrom(t.Context(), "h.jsonl", strings.NewReader(text), func(*history.Event) error { n++; return nil })
		if n != 1 || err == nil || !strings.HasPrefix(err.Error(), "h.jsonl:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%d events, %v\nwant %s", line, n, err, want)
		}
	}
}

// TestTakesInOrder: whatever the size of the blocks, events come in the order of the file, up to the first
// that the caller refuses, whose line is named.
func TestTakesInOrder(t *testing.T) {
	const all, last = 20_000, 12_345
	text := strings.Repeat(`{"kind":"match","at_ns":1}`+"\n\n", all)
	full, n := errors.New("full"), 0
	torn, err := history.ReadFrom(t.Context(), "h.jsonl", strings.NewReader(text), func(*history.Event) error {
		if n++; n > last {
			return full
		}
		return nil
	})
	if want := fmt.Sprintf("h.jsonl:%d: full", 2*last+1); torn || !errors.Is(err, full) || err.Error() != want || n != last+1 {
		t.Errorf("%d events, torn %v, %v, want %s", n, torn, err, want)
	}
}

func TestReadWantsARegularFileAndEndsWithItsContext(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, t.TempDir(), "/dev/zero"} {
		if _, _, err := historytest.ReadFile(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err := history.ReadFrom(ctx, "endless", blank{}, func(*history.Event) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// blank is an endless file of empty lines.
type blank struct{}

func (blank) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '\n'
	}
	return len(b), nil
}
