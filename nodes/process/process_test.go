package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func writeConfig(t *testing.T, c Config) string {
	t.Helper()
	data, err := json.Marshal(c)
	must.Do(t, err)
	path := filepath.Join(t.TempDir(), ConfigFile)
	testfile.Write(t, path, data)
	return path
}

func config(t *testing.T) Config {
	return Config{
		Name: "worker-a-1", Role: "worker", Host: "host-a-1", Zone: "a", Dir: t.TempDir(),
		Addrs: map[string]string{"http": "127.0.0.1:20000"}, Settings: jsontext.Value(`{"rooms":3}`),
	}
}

func decodeLines(t *testing.T, text []byte) []history.Event {
	t.Helper()
	var all []history.Event
	for line := range bytes.Lines(text) {
		var e history.Event
		if err := new(history.Decoder).Decode(bytes.TrimSpace(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, e)
	}
	return all
}

func TestRunEndsWithStdinAndWritesEverything(t *testing.T) {
	stdin, agent := io.Pipe()
	var events, log bytes.Buffer
	main := func(ctx context.Context, node *Node) error {
		var settings struct {
			Rooms int `json:"rooms"`
		}
		if err := node.Decode(&settings); err != nil {
			return err
		}
		node.Ready()
		node.Ready()
		node.Recorder.Record(history.Event{Kind: history.KindRoom, AtNS: 7, Token: uint64(settings.Rooms)})
		node.Log.Info("hosting", "addr", node.Addrs["http"])
		_ = agent.Close() // the agent dies
		<-ctx.Done()
		node.Recorder.Record(history.Event{Kind: history.KindRoom, State: "closed"})
		return ctx.Err()
	}
	must.Do(t, run(t.Context(), writeConfig(t, config(t)), streams{stdin, &events, io.Discard, &log}, main))
	got := decodeLines(t, events.Bytes())
	if len(got) != 3 {
		t.Fatalf("got %d events, want 3: %s", len(got), events.String())
	}
	if e := got[0]; e.Kind != history.KindNode || e.State != StateReady || e.Node != "worker-a-1" || e.Host != "host-a-1" || e.AtNS == 0 {
		t.Errorf("ready event = %+v", e)
	}
	if e := got[1]; e.AtNS != 7 || e.Token != 3 {
		t.Errorf("room event = %+v", e)
	}
	if !strings.Contains(log.String(), `"msg":"hosting","node":"worker-a-1","addr":"127.0.0.1:20000"`) {
		t.Errorf("log = %s", log.String())
	}
}

func TestRunGivesUpAMainThatDoesNotEnd(t *testing.T) {
	path := writeConfig(t, config(t))
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		main := func(context.Context, *Node) error { <-release; return nil }
		err := run(t.Context(), path, streams{strings.NewReader(""), io.Discard, io.Discard, io.Discard}, main)
		if err == nil || !strings.Contains(err.Error(), "did not end within 3s") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestRunReportsMainsError(t *testing.T) {
	broken := errors.New("port taken")
	stdin, agent := io.Pipe()
	defer func() { _ = agent.Close() }()
	err := run(t.Context(), writeConfig(t, config(t)), streams{stdin, io.Discard, io.Discard, io.Discard},
		func(context.Context, *Node) error { return broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "worker worker-a-1") {
		t.Errorf("got %v", err)
	}
}

func TestConfigIsReadStrictly(t *testing.T) {
	for name, text := range map[string]string{
		"unknown field": `{"name":"a","dir":"/x","colour":"red"}`,
		"trailing":      `{"name":"a","dir":"/x"} {}`,
		"not JSON":      `name: a`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ConfigFile)
			testfile.Write(t, path, text)
			_, err := readConfig(path)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := readConfig(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	c := config(t)
	if err := c.Decode(&struct{}{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("settings with an unknown field: got %v", err)
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

func TestRecorderNeverDropsAndKeepsOrder(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	r := NewRecorder(g, "h", "n")
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
	events := decodeLines(t, g.got.Bytes())
	g.mu.Unlock()
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

func TestRecorderWaitsWhenTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		r := NewRecorder(g, "h", "n")
		recorded := 0
		go func() {
			for range 8 { // two fill the queue; one or two more may be being written
				r.Record(history.Event{Kind: history.KindRoom, Order: strings.Repeat("x", maxQueue*2/3)})
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

func TestRecorderReportsAFailedWrite(t *testing.T) {
	r, w, err := os.Pipe()
	must.Do(t, err)
	_ = r.Close()
	rec := NewRecorder(w, "h", "n")
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
