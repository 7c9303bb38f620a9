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

	"locklab/internal/testfile"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWriterFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	w, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 5000
	var wg sync.WaitGroup
	for n := range writers {
		wg.Go(func() {
			for i := range each {
				w.Record(history.Event{Kind: history.KindMatch, AtNS: int64(i + 1), Node: fmt.Sprint(n)})
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, torn, err := historytest.ReadFile(t.Context(), path)
	if err != nil || torn || len(events) != writers*each {
		t.Fatalf("got %d events, torn %v, %v", len(events), torn, err)
	}
	last := map[string]int64{}
	for _, e := range events {
		if e.AtNS != last[e.Node]+1 {
			t.Fatalf("writer %s: %d after %d", e.Node, e.AtNS, last[e.Node])
		}
		last[e.Node] = e.AtNS
	}
	if _, err := history.Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing history was opened for writing: %v", err)
	}
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

func TestWriterFlushesWithin100ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		w := history.NewWriter(out)
		w.Record(history.Event{Kind: history.KindPhase, State: "warmup"})
		wait := time.NewTimer(100e6 + 1)
		<-wait.C
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, "warmup") {
			t.Errorf("after 100 ms the file has %q", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWriterErrorsAreSticky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		out := &sink{err: full}
		w := history.NewWriter(out)
		w.Record(history.Event{})
		for range 3 {
			if err := w.Close(); !errors.Is(err, full) {
				t.Errorf("Close: %v", err)
			}
		}
		w.Record(history.Event{}) // dropped, not a panic
		<-w.Failed()
		if err := w.Err(); !errors.Is(err, full) || out.closed != 1 {
			t.Errorf("Err: %v, closed %d times", err, out.closed)
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
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
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
