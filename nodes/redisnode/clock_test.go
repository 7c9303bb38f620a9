package redisnode

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/nodes/fakeclock"
	"locklab/nodes/role"
)

// fakedServer is a real server that takes its time from a file, and a client of it.
func fakedServer(t *testing.T) (file string, began time.Time, client *redis.Client, off func() time.Duration) {
	t.Helper()
	if _, err := exec.LookPath(serverName); err != nil {
		t.Skip("redis-server is not installed")
	}
	if err := fakeclock.Missing(); err != nil {
		t.Skip(err)
	}
	file, began = filepath.Join(t.TempDir(), "clock"), clock.System().Now()
	must.Do(t, fakeclock.Set(file, 0, 1, began))
	env, err := fakeclock.Env(serverName, file)
	must.Do(t, err)
	r, n := Role(), role.Node{Name: "redis-1", Dir: t.TempDir(), Addrs: map[string]string{Port: locktest.FreeAddr(t)}}
	command := r.Command
	r.Command = func(n role.Node) (role.Command, error) {
		c, err := command(n)
		c.Env = append(c.Env, env...)
		return c, err
	}
	t.Cleanup(startServer(t, r, n))
	client = redis.NewClient(&redis.Options{Addr: n.Addrs[Port]})
	t.Cleanup(func() { _ = client.Close() })
	return file, began, client, func() time.Duration {
		t.Helper()
		at, err := r.Clock(t.Context(), n.Addrs[Port])
		must.Do(t, err)
		return at.Sub(clock.System().Now())
	}
}

// TestClockDecidesWhatExpires: a real server whose wall clock jumps ahead forgets a key that
// had a minute left, and says so when it is asked for the time; set right, it keeps the next.
func TestClockDecidesWhatExpires(t *testing.T) {
	file, _, client, off := fakedServer(t)
	set := func(offset time.Duration) {
		t.Helper()
		must.Do(t, fakeclock.Set(file, offset, 1, clock.System().Now()))
	}
	ctx := t.Context()

	for _, step := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
		set(0)
		must.Do(t, client.Set(ctx, "key", "token", time.Minute).Err())
		set(step)
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
	file, began, client, off := fakedServer(t)
	const life = 5 * time.Second
	must.Do(t, client.Set(t.Context(), "key", "token", life).Err())
	asked := clock.System().Now()
	must.Do(t, fakeclock.Set(file, 0, 5, began))
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
	must.Do(t, fakeclock.Set(file, 0, 1, began))
	if off := off(); off.Abs() > time.Second {
		t.Errorf("set right, the clock is %v ahead", off)
	}
}
