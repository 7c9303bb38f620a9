package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/workloads/history"
)

// TestMain lets the test binary be its own locklab: node ROLE.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		exit(playNode(os.Args[2:]))
	}
	// The race detector makes every process wait a second before it ends.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		exit(err)
	}
	goleak.VerifyTestMain(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// ownSettings tell the fake own role what to do.
type ownSettings struct {
	Mute        bool `json:"mute,omitzero"`         // never ready
	Fail        bool `json:"fail,omitzero"`         // ends at once with an error
	IgnoresTerm bool `json:"ignores_term,omitzero"` // ignores SIGTERM
	Events      int  `json:"events,omitzero"`       // writes so many, Token counts from 1
	Garbage     bool `json:"garbage,omitzero"`      // writes an event that is none
	Works       bool `json:"works,omitzero"`        // passes the points of its work all the time
}

// work acquires and is granted, and says when it goes on from there.
func work(ctx context.Context, node *process.Node) {
	for ctx.Err() == nil {
		node.Points.Pass(history.PointAcquiring, "r1")
		node.Points.Pass(history.PointGranted, "r1")
		node.Recorder.Record(history.Event{Kind: history.KindAcquire, Resource: "r1", FromNS: 1, Outcome: "ok", Hold: "h"})
		_ = clock.Sleep(ctx, time.Millisecond)
	}
}

func playNode(args []string) error {
	if args[0] == "disk" {
		return diskfault.Exec(args[2:]) // after --
	}
	if os.Getenv("LOCKLAB_TOKEN") != "" {
		return fmt.Errorf("the token was inherited")
	}
	return process.Run(context.Background(), args[2], func(ctx context.Context, node *process.Node) error {
		var s ownSettings
		if err := node.Decode(&s); err != nil {
			return err
		}
		node.Log.Info("born")
		if s.Fail {
			return fmt.Errorf("no space for ponies")
		}
		if s.IgnoresTerm {
			signal.Ignore(syscall.SIGTERM)
		}
		listener, err := net.Listen("tcp", node.Addrs["http"])
		if err != nil {
			return err
		}
		defer func() { _ = listener.Close() }()
		// Says what it found, and leaves something to find.
		found, err := os.ReadFile(filepath.Join(node.Dir, "memory"))
		if err != nil {
			found = []byte("nothing")
		}
		if node.First {
			found = append(found, "-first"...)
		}
		node.Recorder.Record(history.Event{Kind: history.KindRoom, State: "found-" + string(found)})
		if err := os.WriteFile(filepath.Join(node.Dir, "memory"), []byte("memory"), 0o600); err != nil {
			return err
		}
		lives, err := os.OpenFile(filepath.Join(node.Dir, "lives"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = lives.WriteString("x")
			err = errors.Join(err, lives.Close())
		}
		if err != nil {
			return err
		}
		if !s.Mute {
			node.Ready()
		}
		if s.Works {
			go work(ctx, node)
		}
		for i := range s.Events {
			node.Recorder.Record(history.Event{Kind: history.KindRoom, Token: uint64(i) + 1})
		}
		if s.Garbage {
			_ = node.Recorder.Flush()
			_ = os.WriteFile(fmt.Sprintf("/dev/fd/%d", process.EventsFD), []byte("{nonsense\n"), 0)
		}
		if s.IgnoresTerm {
			select {}
		}
		<-ctx.Done()
		return nil
	})
}

const testToken = "secret-of-the-test"

func testConfig(dir string) (Config, error) {
	executable, err := os.Executable()
	cfg := DefaultConfig()
	cfg.Host, cfg.Zone, cfg.DataDir, cfg.Executable = "host-a-1", "a", dir, executable
	own := role.Role{
		Name: "own", Ports: []string{"http"}, OwnClock: true, Points: true,
		Env: func(settings []byte) ([]string, error) { return nil, process.DecodeSettings(settings, &ownSettings{}) },
	}
	plain := role.Role{Name: "plain", Ports: []string{"http"}, Version: func(context.Context) (string, error) { return "plain 7.0", nil }}
	cfg.Roles, cfg.Token = []role.Role{own, plain}, testToken
	return cfg, err
}

func newAgent(t *testing.T, change func(*Config)) (*Agent, *Client) {
	t.Helper()
	cfg, err := testConfig(t.TempDir())
	must.Do(t, err)
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg)
	must.Do(t, err)
	c := NewClient(a.URL(), cfg.Token)
	t.Cleanup(func() {
		c.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, c
}

// collector follows an agent and keeps the events.
type collector struct {
	*Follower
	t      *testing.T
	mu     sync.Mutex
	events []history.Event
}

func collect(t *testing.T, c *Client) *collector {
	t.Helper()
	col := &collector{t: t}
	col.Follower = c.Follow(t.Context(), func(e history.Event) error {
		col.mu.Lock()
		defer col.mu.Unlock()
		col.events = append(col.events, e)
		return nil
	})
	t.Cleanup(col.Close)
	return col
}

// drained ends the collector and returns all events until now.
func (c *collector) drained() []history.Event {
	c.t.Helper()
	must.Do(c.t, c.Drain(c.t.Context()))
	c.Close()
	return c.events
}

// story is the events in short: node:state.
func story(events []history.Event) string {
	var words []string
	for _, e := range events {
		word := e.Node + ":" + e.State
		if e.Error != "" {
			word += "(" + e.Error + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// alive is false for a process that has ended, reaped or not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
