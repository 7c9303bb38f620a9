package redisnode

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/nodes/agent"
	"locklab/nodes/agent/agenttest"
	"locklab/nodes/fakeclock"
	"locklab/nodes/process"
)

func TestMain(m *testing.M) {
	if !agenttest.Node(Role()) {
		goleak.VerifyTestMain(m)
	}
}

// start has an agent start a server.
func start(t *testing.T, settings string, fakeClock bool) (a *agent.Client, client *redis.Client) {
	t.Helper()
	spec := agent.NodeSpec{Settings: []byte(settings), FakeClock: fakeClock}
	a, addrs := agenttest.Start(t, Role(), 1, spec, nil)
	client = redis.NewClient(&redis.Options{Addr: addrs[0][Port]})
	t.Cleanup(func() { _ = client.Close() })
	return a, client
}

// TestServer runs the real server, with data that is to survive and without.
func TestServer(t *testing.T) {
	if v, err := Role().Version(t.Context()); err != nil || !strings.HasPrefix(v, "redis-server ") {
		t.Fatalf("version %q, %v: want redis-server itself, which must be on PATH", v, err)
	}
	for persistence, survives := range map[string]int64{PersistNone: 0, PersistAlways: 1} {
		a, client := start(t, `{"persistence":"`+persistence+`"}`, false)
		must.Do(t, client.Set(t.Context(), "k", "v", 0).Err())
		must.Do(t, a.Restart(t.Context(), "redis-1", false))
		if got, err := client.Exists(t.Context(), "k").Result(); err != nil || got != survives {
			t.Errorf("after SIGKILL the key exists %d times, %v; want %d", got, err, survives)
		}
	}
}

// startStandInForTest is a stand-in that the test ends.
func startStandInForTest(t *testing.T, c clock.Clock) *miniredis.Miniredis {
	t.Helper()
	m, err := startStandIn("127.0.0.1:0", c)
	must.Do(t, err)
	t.Cleanup(m.Close)
	return m
}

func TestWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := Role()
	if v, err := r.Version(t.Context()); err != nil || !strings.Contains(v, "stand-in") {
		t.Errorf("version %q, %v: want it to say what it is", v, err)
	}
	node := &process.Node{Config: process.Config{Settings: []byte(`{"persistence":"always"}`)}}
	if err := r.Main(t.Context(), node); err == nil || !strings.Contains(err.Error(), "install redis-server") {
		t.Errorf("persistence=always: %v", err)
	}
}

// TestStandInConforms holds the lock against stand-ins to the same suite as against
// real servers: scripts by hash, expiry, publish.
func TestStandInConforms(t *testing.T) {
	var addrs []string
	for range 3 {
		addrs = append(addrs, startStandInForTest(t, clock.System()).Addr())
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
	start := time.Now()
	now := start
	m := startStandInForTest(t, steppedClock{now: func() time.Time { return now }})
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

// fakedServer is a client of a real server whose clock can be set, and read.
func fakedServer(t *testing.T) (client *redis.Client, set func(offset time.Duration, rate float64), off func() time.Duration) {
	t.Helper()
	if err := fakeclock.Missing(); err != nil {
		t.Skip(err)
	}
	a, client := start(t, "{}", true)
	set = func(offset time.Duration, rate float64) {
		t.Helper()
		must.Do(t, a.SetClock(t.Context(), "redis-1", offset, rate))
	}
	return client, set, func() time.Duration {
		t.Helper()
		off, err := a.NodeClock(t.Context(), "redis-1")
		must.Do(t, err)
		return off
	}
}

// TestClockDecidesWhatExpires: a real server whose wall clock jumps ahead forgets a key that
// had a minute left, and says so when it is asked for the time; set right, it keeps the next.
func TestClockDecidesWhatExpires(t *testing.T) {
	client, set, off := fakedServer(t)
	ctx := t.Context()
	for _, step := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
		set(0, 1)
		must.Do(t, client.Set(ctx, "key", "token", time.Minute).Err())
		set(step, 1)
		if off := off(); (off - step).Abs() > 30*time.Second {
			t.Errorf("the server's clock is off by %v, want %v", off, step)
		}
		there, err := client.Exists(ctx, "key").Result()
		if err != nil || (there == 1) != (step < 0) {
			t.Errorf("after a step of %v, the key is there: %d, %v", step, there, err)
		}
	}
}

// TestARateDecidesWhenKeysExpire: on a real server whose clock runs five times as fast, a key
// that had five seconds left is gone before a second and a half is over; and its clock shows it.
func TestARateDecidesWhenKeysExpire(t *testing.T) {
	client, set, off := fakedServer(t)
	const life = 5 * time.Second
	must.Do(t, client.Set(t.Context(), "key", "token", life).Err())
	asked := clock.System().Now()
	set(0, 5)
	for {
		there, err := client.Exists(t.Context(), "key").Result()
		passed := clock.System().Now().Sub(asked)
		if err != nil || there == 0 && passed < life/5-500*time.Millisecond {
			t.Fatalf("after %v the key is there: %d, %v", passed, there, err)
		}
		if there == 0 {
			break
		}
		if passed > life-time.Second {
			t.Fatalf("after %v the key is still there", passed)
		}
		_ = clock.Sleep(t.Context(), 5*time.Millisecond)
	}
	passed := clock.System().Now().Sub(asked)
	if off := off(); off < 4*passed/2 {
		t.Errorf("after %v the clock is %v ahead", passed, off)
	}
	set(0, 1)
	if off := off(); off.Abs() > time.Second {
		t.Errorf("set right, the clock is %v ahead", off)
	}
}

func TestSentinelConfig(t *testing.T) {
	text, err := sentinelConfig(SentinelSettings{
		Announce: "127.1.0.3:2", Primary: "127.1.0.1:2", Replicas: []string{"127.1.0.2:2"},
		Others: []string{"127.1.0.4:2", "127.1.0.5:2"}, DownAfterMS: 500,
	}, "/a", "127.0.0.1:7")
	must.Do(t, err)
	for _, line := range []string{
		"port 7", "bind 127.0.0.1", "bind-source-addr 127.1.0.3", "sentinel announce-ip 127.1.0.3", "sentinel announce-port 2", "sentinel monitor lock 127.1.0.1 2 2",
		"sentinel down-after-milliseconds lock 500", "sentinel known-replica lock 127.1.0.2 2", "sentinel known-sentinel lock 127.1.0.5 2 " + sentinelID("127.1.0.5:2"),
	} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}
