package redisnode

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/nodes/fakeclock"
	"locklab/nodes/role"
)

// TestClockDecidesWhatExpires: a real server whose wall clock jumps ahead forgets a key that
// had a minute left, and says so when it is asked for the time; set right, it keeps the next.
func TestClockDecidesWhatExpires(t *testing.T) {
	if _, err := exec.LookPath(serverName); err != nil {
		t.Skip("redis-server is not installed")
	}
	if err := fakeclock.Missing(); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "clock")
	set := func(offset time.Duration) {
		t.Helper()
		if err := fakeclock.Set(file, offset, 1, clock.System().Now()); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	env, err := fakeclock.Env(serverName, file)
	if err != nil {
		t.Fatal(err)
	}
	r := Role()
	command := r.Command
	r.Command = func(n role.Node) (role.Command, error) {
		c, err := command(n)
		c.Env = append(c.Env, env...)
		return c, err
	}
	n := role.Node{Name: "redis-1", Dir: t.TempDir(), Addrs: map[string]string{Port: locktest.FreeAddr(t)}}
	defer startServer(t, r, n)()
	client := redis.NewClient(&redis.Options{Addr: n.Addrs[Port]})
	defer func() { _ = client.Close() }()
	ctx := t.Context()

	for _, step := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
		set(0)
		if err := client.Set(ctx, "key", "token", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		set(step)
		at, err := r.Clock(ctx, n.Addrs[Port])
		if err != nil {
			t.Fatal(err)
		}
		if off := at.Sub(clock.System().Now()); (off - step).Abs() > 30*time.Second {
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
	if _, err := exec.LookPath(serverName); err != nil {
		t.Skip("redis-server is not installed")
	}
	if err := fakeclock.Missing(); err != nil {
		t.Skip(err)
	}
	file, r, n := filepath.Join(t.TempDir(), "clock"), Role(), role.Node{Name: "redis-1", Dir: t.TempDir(), Addrs: map[string]string{Port: locktest.FreeAddr(t)}}
	began := clock.System().Now()
	if err := fakeclock.Set(file, 0, 1, began); err != nil {
		t.Fatal(err)
	}
	env, err := fakeclock.Env(serverName, file)
	if err != nil {
		t.Fatal(err)
	}
	command := r.Command
	r.Command = func(n role.Node) (role.Command, error) {
		c, err := command(n)
		c.Env = append(c.Env, env...)
		return c, err
	}
	defer startServer(t, r, n)()
	client := redis.NewClient(&redis.Options{Addr: n.Addrs[Port]})
	defer func() { _ = client.Close() }()
	const life = 5 * time.Second
	if err := client.Set(t.Context(), "key", "token", life).Err(); err != nil {
		t.Fatal(err)
	}
	asked := clock.System().Now()
	if err := fakeclock.Set(file, 0, 5, began); err != nil {
		t.Fatal(err)
	}
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
	at, err := r.Clock(t.Context(), n.Addrs[Port])
	now := clock.System().Now()
	if off := at.Sub(now); err != nil || off < 4*now.Sub(asked)/2 {
		t.Errorf("after %v the clock is %v ahead, %v", now.Sub(asked), off, err)
	}
	if err := fakeclock.Set(file, 0, 1, began); err != nil {
		t.Fatal(err)
	}
	at, err = r.Clock(t.Context(), n.Addrs[Port])
	if off := at.Sub(clock.System().Now()); err != nil || off.Abs() > time.Second {
		t.Errorf("set right, the clock is %v ahead, %v", off, err)
	}
}
