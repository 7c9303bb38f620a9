package redisnode

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseSettings(t *testing.T) {
	tests := []struct {
		in   string
		want string
		err  error
	}{
		{``, PersistNone, nil},
		{`{}`, PersistNone, nil},
		{`{"persistence":"always"}`, PersistAlways, nil},
		{`{"persistence":"everysec"}`, PersistEverySec, nil},
		{`{"persistence":"sometimes"}`, "", ErrInvalid},
		{`{"persistence":""}`, "", ErrInvalid},
		{`{"persistent":"none"}`, "", process.ErrInvalid},
		{`{"persistence":"none"} x`, "", process.ErrInvalid},
		{`[`, "", process.ErrInvalid},
	}
	for _, tt := range tests {
		got, err := ParseSettings([]byte(tt.in))
		if !errors.Is(err, tt.err) || got.Persistence != tt.want {
			t.Errorf("%s: got %q, %v; want %q, %v", tt.in, got.Persistence, err, tt.want, tt.err)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`{"persistence":"always"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := ParseSettings(in)
		if err == nil && s.Persistence != PersistNone && s.Persistence != PersistEverySec && s.Persistence != PersistAlways {
			t.Errorf("%q gave %q", in, s.Persistence)
		}
	})
}

func TestServerConfig(t *testing.T) {
	text, err := serverConfig(Settings{Persistence: PersistAlways}, `/a "b"/c\d`, "10.0.1.5:7000")
	must.Do(t, err)
	for _, line := range []string{`port 7000`, `bind 10.0.1.5`, `dir "/a \"b\"/c\\d"`, `appendonly yes`, `appendfsync always`, `save ""`, `protected-mode no`} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	for _, bad := range [][2]string{{"/a", "nonsense"}, {"/a\nsave 1 1", "127.0.0.1:1"}, {"/a", "127.0.0.1 \nx:1"}} {
		if _, err := serverConfig(DefaultSettings(), bad[0], bad[1]); !errors.Is(err, ErrInvalid) {
			t.Errorf("dir %q, addr %q: want ErrInvalid, got %v", bad[0], bad[1], err)
		}
	}
}

// TestVersionKeepsTheServersName: Valkey and Redis are compared, not confused.
func TestVersionKeepsTheServersName(t *testing.T) {
	for printed, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1\n":  "redis-server 7.0.15",
		"Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=2a\n": "valkey-server 8.0.1",
		"Redis server sha=00000000:0\n": "",
		" v=1\n":                        "",
		"":                              "",
	} {
		got, err := parseVersion(printed)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q, %v; want %q", printed, got, err, want)
		}
	}
}

// TestServer runs the real server as an agent would, with data that is to survive
// and without.
func TestServer(t *testing.T) {
	r := Role()
	if r.Main != nil || r.Name != Name {
		t.Fatalf("role %q, own %v: want redis-server itself, which must be on PATH", r.Name, r.Main != nil)
	}
	if v, err := r.Version(t.Context()); err != nil || !strings.HasPrefix(v, "redis-server ") {
		t.Errorf("version %q, %v", v, err)
	}
	for persistence, survives := range map[string]bool{PersistNone: false, PersistAlways: true} {
		t.Run(persistence, func(t *testing.T) {
			settings, _ := json.Marshal(Settings{Persistence: persistence})
			n := role.Node{Name: "redis-1", Dir: filepath.Join(t.TempDir(), `with "quotes" and spaces`), Settings: settings}
			must.Do(t, os.Mkdir(n.Dir, 0o700))
			n.Addrs = map[string]string{Port: locktest.FreeAddr(t)}
			stop := startServer(t, r, n)
			client := redis.NewClient(&redis.Options{Addr: n.Addrs[Port]})
			defer func() { _ = client.Close() }()
			must.Do(t, client.Set(t.Context(), "k", "v", 0).Err())
			stop()
			stop = startServer(t, r, n)
			defer stop()
			got, err := client.Exists(t.Context(), "k").Result()
			if err != nil || (got == 1) != survives {
				t.Errorf("after SIGKILL the key exists %d times, %v; want survival %v", got, err, survives)
			}
		})
	}
}

func startServer(t *testing.T, r role.Role, n role.Node) (stop func()) {
	t.Helper()
	command, err := r.Command(n)
	must.Do(t, err)
	cmd := exec.Command(command.Path, command.Args...)
	cmd.Env = append(os.Environ(), command.Env...)
	must.Do(t, cmd.Start())
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.Ready(ctx, n); err != nil {
		stop()
		t.Fatal(err)
	}
	return stop
}

func TestReadyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitPong(ctx, locktest.FreeAddr(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's error, got %v", err)
	}
}

// startStandIn returns the address of a stand-in that the test ends.
func startStandIn(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() { done <- RunStandIn(ctx, "127.0.0.1:0", func(a net.Addr) { ready <- a }) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	select {
	case a := <-ready:
		return a.String()
	case err := <-done:
		done <- err
		tb.Fatal(err)
		return ""
	}
}

func TestWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := Role()
	if r.Main == nil || r.Name != Name {
		t.Fatalf("role %q, own %v: want the stand-in", r.Name, r.Main != nil)
	}
	if v, err := r.Version(t.Context()); err != nil || !strings.Contains(v, "stand-in") {
		t.Errorf("version %q, %v: want it to say what it is", v, err)
	}
	if _, err := r.Command(role.Node{Settings: []byte(`{"persistence":"none"}`)}); err != nil {
		t.Error(err)
	}
	if _, err := r.Command(role.Node{Settings: []byte(`{"persistence":"always"}`)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("persistence=always: want ErrInvalid, got %v", err)
	}
}

// TestStandInConforms holds the lock against stand-ins to the same suite as against
// real servers: scripts by hash, expiry, publish.
func TestStandInConforms(t *testing.T) {
	var addrs []string
	for range 3 {
		addrs = append(addrs, startStandIn(t))
	}
	fresh := func() {
		for _, a := range addrs {
			client := redis.NewClient(&redis.Options{Addr: a})
			must.Do(t, client.FlushAll(context.Background()).Err())
			_ = client.Close()
		}
	}
	locktest.Run(t, locktest.Clients(redlock.DefaultOptions().TTL, fresh, func(tb testing.TB, c clock.Clock) *redlock.Locker {
		l, err := redlock.New(redlock.Config{Addrs: addrs, Clock: c})
		return locktest.Open(tb, l, err)
	}))
}

// steppedClock is a clock that tests move by hand.
type steppedClock struct {
	clock.Clock
	now func() time.Time
}

func (c steppedClock) Now() time.Time { return c.now() }

// TestStandInAges moves the clock as a pause of the process does: what was there
// grows old by the whole pause, what comes after it does not.
func TestStandInAges(t *testing.T) {
	m := newStandInForTest(t)
	start := time.Now()
	now := start
	newAging(m, steppedClock{now: func() time.Time { return now }}).install()
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), PoolSize: 1})
	defer func() { _ = client.Close() }()
	ctx := t.Context()
	set := func(key string) bool {
		ok, err := client.SetNX(ctx, key, "v", 100*time.Millisecond).Result()
		must.Do(t, err)
		return ok
	}
	if !set("a") || set("a") {
		t.Fatal("SET NX does not exclude")
	}
	now = start.Add(99 * time.Millisecond)
	if set("a") {
		t.Error("the key ended 1 ms before its time")
	}
	if left := client.PTTL(ctx, "a").Val(); left != time.Millisecond {
		t.Errorf("%v left, want 1ms", left)
	}
	now = start.Add(10 * time.Second) // a pause
	if !set("b") || set("b") {
		t.Error("a key set after a pause did not last")
	}
	if !set("a") {
		t.Error("the key outlived its time")
	}
}

func newStandInForTest(t *testing.T) *miniredis.Miniredis {
	t.Helper()
	m := miniredis.NewMiniRedis()
	must.Do(t, m.Start())
	t.Cleanup(m.Close)
	return m
}
