package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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
		Name: "worker-a-1", Role: "worker", Host: "host-a-1", Dir: t.TempDir(),
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
	if e := got[0]; e.Kind != history.KindNode || e.State != history.NodeReady || e.Node != "worker-a-1" || e.Host != "host-a-1" || e.AtNS == 0 {
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
