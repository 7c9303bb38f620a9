package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/internal/testfile"
	"locklab/locks/locktest"
)

func settings(t *testing.T, s ownSettings) jsontext.Value {
	t.Helper()
	data, err := json.Marshal(s)
	must.Do(t, err)
	return data
}

func state(t *testing.T, c *Client, node string) string {
	t.Helper()
	s, err := c.State(t.Context(), node)
	must.Do(t, err)
	return s
}

func TestLifeOfAnOwnNode(t *testing.T) {
	a, c := newAgent(t, nil)
	ctx := t.Context()
	events := collect(t, c)
	addrs, err := c.Reserve(ctx, "own-1", "own")
	must.Do(t, err)
	if s := state(t, c, "own-1"); s != "reserved" || len(a.PIDs()) > 0 {
		t.Errorf("before the start: %s", s)
	}
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	if s := state(t, c, "own-1"); s != "ready" {
		t.Errorf("after the start: %s", s)
	}
	if err := c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}); !errors.Is(err, httpapi.ErrConflict) || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("a second start: %v", err)
	}
	dial(t, addrs["http"])
	must.Do(t, c.Pause(ctx, "own-1", "", 0))
	must.Do(t, c.Pause(ctx, "own-1", "", 0)) // nothing to do
	if s := state(t, c, "own-1"); s != "paused" {
		t.Errorf("after the pause: %s", s)
	}
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, c.Kill(ctx, "own-1"))
	must.Do(t, c.Kill(ctx, "own-1"))
	if s := state(t, c, "own-1"); s != "ended" {
		t.Errorf("after the kill: %s", s)
	}
	must.Do(t, c.Restart(ctx, "own-1", false))
	must.Do(t, c.Restart(ctx, "own-1", true))
	dial(t, addrs["http"])
	must.Do(t, c.Pause(ctx, "own-1", "", 0))
	must.Do(t, c.Stop(ctx, "own-1")) // a paused one stops too
	must.Do(t, c.Stop(ctx, "own-1"))
	if log, err := c.Log(ctx, "own-1"); err != nil || strings.Count(log, `"msg":"born"`) != 3 {
		t.Errorf("its log of three lives: %s, %v", log, err)
	}
	if version, err := c.Version(ctx, "plain"); err != nil || version != "plain 7.0" {
		t.Errorf("version = %q, %v", version, err)
	}
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Settings: settings(t, ownSettings{Events: 1})}))
	must.Do(t, c.Kill(ctx, "own-1"))

	want := "own-1:started own-1:found-nothing-first own-1:ready own-1:paused own-1:resumed own-1:killed(signal-killed) " +
		"own-1:started own-1:found-memory own-1:ready own-1:killed(signal-killed) " +
		"own-1:started own-1:found-nothing own-1:ready own-1:paused own-1:stopped " +
		"own-1:started own-1:found-nothing own-1:ready own-1: own-1:killed(signal-killed)"
	all := events.drained()
	if got := story(all); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, e := range all {
		if e.Host != "host-a-1" || e.AtNS == 0 || e.FromNS > e.AtNS {
			t.Errorf("event %d: %+v", i, e)
		}
	}
}

func dial(t *testing.T, addr string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	must.Do(t, err)
	_ = conn.Close()
}

// TestANodeThatEndsByItselfIsNoticed, with its last words: of one that ended unasked, and
// only then.
func TestANodeThatEndsByItselfIsNoticed(t *testing.T) {
	for _, asked := range []bool{false, true} {
		a, c := newAgent(t, nil)
		events := collect(t, c)
		must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
		want := "own-1:killed(signal-killed)"
		if asked {
			must.Do(t, c.Kill(t.Context(), "own-1"))
		} else {
			want = "own-1:exited(signal-killed)"
			must.Do(t, syscall.Kill(a.PIDs()[0], syscall.SIGKILL))
		}
		locktest.Eventually(t, "ended", func() bool { return state(t, c, "own-1") == "ended" })
		all := events.drained()
		said := strings.Contains(strings.Join(all[len(all)-1].Log, "\n"), `"msg":"born"`)
		if said == asked || !strings.HasSuffix(story(all), want) {
			t.Errorf("asked to end: %v: want %s, the last event is %+v", asked, want, all[len(all)-1])
		}
	}
}

// TestAStopByHandIsNoticed: the state is the kernel's word, and the history tells that the node stood still.
func TestAStopByHandIsNoticed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the parent without reaping the child")
	}
	a, c := newAgent(t, nil)
	events := collect(t, c)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	must.Do(t, c.Pause(ctx, "own-1", "", 0))
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, syscall.Kill(a.PIDs()[0], syscall.SIGSTOP))
	locktest.Eventually(t, "paused", func() bool { return state(t, c, "own-1") == "paused" })
	must.Do(t, c.Resume(ctx, "own-1"))
	must.Do(t, c.Kill(ctx, "own-1"))
	const want = "own-1:started own-1:found-nothing-first own-1:ready own-1:paused own-1:resumed " +
		"own-1:paused own-1:resumed own-1:killed(signal-killed)"
	if got := story(events.drained()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	_, c := newAgent(t, func(cfg *Config) { cfg.StartTimeout = 2 * time.Second })
	ctx := t.Context()
	for name, tc := range map[string]struct {
		settings ownSettings
		want     []string
	}{
		"ends":        {ownSettings{Fail: true}, []string{"it ended with exit-3", "the end of its log:", `"msg":"born"`, "run own ends: no space for ponies"}},
		"never-ready": {ownSettings{Mute: true}, []string{"it was not ready within 2s", `"msg":"born"`}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Start(ctx, NodeSpec{Name: name, Role: "own", Settings: settings(t, tc.settings)})
			if !errors.Is(err, ErrStart) || errors.Is(err, ErrLate) != (name == "never-ready") {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if s := state(t, c, name); s != "ended" {
				t.Errorf("the node is left behind: %s", s)
			}
			must.Do(t, c.Start(ctx, NodeSpec{Name: name, Role: "own"})) // right settings later
		})
	}
}

func TestStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	_, c := newAgent(t, func(cfg *Config) { cfg.StopGrace = 50 * time.Millisecond })
	events := collect(t, c)
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own", Settings: settings(t, ownSettings{IgnoresTerm: true})}))
	must.Do(t, c.Stop(t.Context(), "own-1"))
	if got := story(events.drained()); !strings.HasSuffix(got, "own-1:stopped(signal-killed)") {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	a, c := newAgent(t, nil)
	ctx := t.Context()
	_, err := c.Reserve(ctx, "own-1", "own")
	must.Do(t, err)
	post := func(path, body string) func() error {
		return func() error { return c.Call(ctx, http.MethodPost, path, jsontext.Value(body), nil) }
	}
	stranger := NewClient(a.URL(), "guess")
	defer stranger.Close()
	for name, tc := range map[string]struct {
		do   func() error
		is   error
		want string
	}{
		"unknown role":     {func() error { _, err := c.Reserve(ctx, "n", "wroker"); return err }, httpapi.ErrNotFound, "this agent runs own, plain"},
		"unknown node":     {func() error { return c.Kill(ctx, "nobody") }, httpapi.ErrNotFound, "host host-a-1 has no such node"},
		"not started":      {func() error { return c.Restart(ctx, "own-1", false) }, httpapi.ErrConflict, "never started"},
		"pause of none":    {func() error { return c.Pause(ctx, "own-1", "", 0) }, httpapi.ErrConflict, "does not run"},
		"name with path":   {func() error { _, err := c.Reserve(ctx, "../etc", "own"); return err }, httpapi.ErrInvalid, "want 1 to 63"},
		"bad settings":     {post("/v1/nodes/own-1/start", `{"role":"own","settings":{"colour":"red"}}`), httpapi.ErrInvalid, `field "colour" is unknown: want one of mute`},
		"events from text": {func() error { return c.Call(ctx, http.MethodGet, "/v1/events?from=x", nil, nil) }, httpapi.ErrInvalid, "want the number"},
		"events to come": {func() error {
			return c.Call(ctx, http.MethodGet, "/v1/events?from=99&instance="+a.health().Instance, nil, nil)
		}, httpapi.ErrInvalid, "the next one will be 0"},
		"no instance":    {func() error { return c.Call(ctx, http.MethodGet, "/v1/events?from=0", nil, nil) }, ErrEventsLost, "restarted or reset"},
		"other instance": {func() error { return c.Call(ctx, http.MethodGet, "/v1/events?from=0&instance=x", nil, nil) }, ErrEventsLost, "restarted or reset"},
		"wrong token":    {func() error { return stranger.Kill(ctx, "own-1") }, httpapi.ErrUnauthorized, "token is missing or wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.do()
			if !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %v with %q", err, tc.is, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
}

func TestUnreachableAgent(t *testing.T) {
	a, c := newAgent(t, nil)
	must.Do(t, a.Close())
	_, err := c.Health(t.Context())
	if !errors.Is(err, httpapi.ErrUnreachable) || !strings.Contains(err.Error(), a.URL()) || !strings.Contains(err.Error(), "want a running `locklab agent` there") {
		t.Error(err)
	}
	if _, err := a.reserve("own-1", "own"); !errors.Is(err, httpapi.ErrClosed) {
		t.Error(err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no token": {func(c *Config) { c.Token = "" }, "token: missing"},
		"host":     {func(c *Config) { c.Host = "" }, `host: "" is not a name`},
		"bind":     {func(c *Config) { c.Advertise = "redis.example" }, "bind:"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := testConfig(t.TempDir())
			must.Do(t, err)
			tc.change(&cfg)
			a, err := New(cfg)
			if err == nil {
				_ = a.Close()
			}
			if !errors.Is(err, httpapi.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestResetForgetsEverything(t *testing.T) {
	var resets atomic.Int32
	a, c := newAgent(t, func(cfg *Config) { cfg.OnReset = func() { resets.Add(1) } })
	ctx := t.Context()
	events := collect(t, c)
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	must.Do(t, events.Drain(ctx))
	must.Do(t, c.Reset(ctx))
	if all := a.sorted(); len(all) != 0 || resets.Load() != 1 {
		t.Errorf("left: %v, hook was called %d times", all, resets.Load())
	}
	if h := a.health(); h.NextEvent != 0 {
		t.Errorf("next event = %d", h.NextEvent)
	}
	<-events.Done()
	if err := events.Err(); !errors.Is(err, ErrEventsLost) {
		t.Errorf("the old follower ended with %v", err)
	}
	left, err := os.ReadDir(a.cfg.DataDir)
	must.Do(t, err)
	if len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestIdleAgentRemovesItsNodes(t *testing.T) {
	a, c := newAgent(t, func(cfg *Config) { cfg.IdleReset = 200 * time.Millisecond })
	_, err := c.Reserve(t.Context(), "own-1", "own")
	must.Do(t, err)
	locktest.Eventually(t, "reset", func() bool { return len(a.sorted()) == 0 })
}

func TestCloseEndsWhatIsStarting(t *testing.T) {
	a, _ := newAgent(t, nil)
	failed := make(chan error, 1)
	go func() {
		n, err := a.reserve("own-1", "own")
		if err == nil {
			err = n.start(context.Background(), NodeSpec{Settings: settings(t, ownSettings{Mute: true})})
		}
		failed <- err
	}()
	locktest.Eventually(t, "starting", func() bool { return len(a.PIDs()) == 1 })
	pid := a.PIDs()[0]
	must.Do(t, a.Close())
	if err := <-failed; !errors.Is(err, ErrStart) {
		t.Error(err)
	}
	if alive(pid) {
		t.Errorf("process %d is left", pid)
	}
}

// TestWhatNodesInherit: not the agent's token, nor its process group, which the terminal
// sends signals to.
func TestWhatNodesInherit(t *testing.T) {
	t.Setenv("LOCKLAB_TOKEN", "secret") // a node that sees it fails
	a, c := newAgent(t, nil)
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	pid := a.PIDs()[0]
	group, err := syscall.Getpgid(pid)
	must.Do(t, err)
	if group != pid {
		t.Errorf("process %d is in group %d, want one of its own", pid, group)
	}
}

// TestTheEndOfALogIsShown, however long it is.
func TestTheEndOfALogIsShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	line := strings.Repeat("x", 99) + "\n"
	testfile.Write(t, path, strings.Repeat(line, 2*maxLog/len(line))+"the end\n")
	if data := readLog(path, maxLog); len(data) != maxLog || !strings.HasSuffix(string(data), line+"the end\n") {
		t.Errorf("%d bytes are shown, want %d", len(data), maxLog)
	}
	if lines := lastLines(path); len(lines) != 20 || lines[19] != "the end" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// TestManyControllersAtOnce lets operations meet in every order: none may hang,
// leave a process or break the numbers of the events.
func TestManyControllersAtOnce(t *testing.T) {
	a, c := newAgent(t, func(cfg *Config) { cfg.StopGrace = 20 * time.Millisecond })
	events := collect(t, c)
	pids := sync.Map{}
	var wg sync.WaitGroup
	for worker := range 6 {
		random := seed.Seed(worker).Rand()
		wg.Go(func() {
			for range 25 {
				name, role := fmt.Sprintf("own-%d", random.IntN(2)), "own"
				if random.IntN(2) == 0 {
					name, role = "plain-1", "plain"
				}
				var err error
				switch random.IntN(7) {
				case 0, 1:
					err = c.Start(t.Context(), NodeSpec{Name: name, Role: role})
				case 2:
					err = c.Kill(t.Context(), name)
				case 3:
					err = c.Stop(t.Context(), name)
				case 4:
					err = c.Pause(t.Context(), name, "", 0)
				case 5:
					err = c.Resume(t.Context(), name)
				case 6:
					err = c.Restart(t.Context(), name, random.IntN(2) == 0)
				}
				for _, pid := range a.PIDs() {
					pids.Store(pid, true)
				}
				_, refused := errors.AsType[*httpapi.Error](err)
				switch {
				case err == nil, errors.Is(err, httpapi.ErrConflict), errors.Is(err, httpapi.ErrNotFound):
				case refused && errors.Is(err, ErrStart): // somebody ended it meanwhile
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := events.drained()
	if len(all) == 0 {
		t.Error("nothing has happened")
	}
	must.Do(t, a.Close())
	pids.Range(func(pid, _ any) bool {
		if alive(pid.(int)) {
			t.Errorf("process %d is left", pid)
		}
		return true
	})
}
