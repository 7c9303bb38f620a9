package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock/redistest"
)

// This file shows what each variant cannot do, on a real server: doc.go has the list.

// ahead is a clock whose wall time is wrong.
type ahead struct {
	clock.Clock
	by time.Duration
}

func (c ahead) Now() time.Time { return c.Clock.Now().Add(c.by) }

func TestAServerThatForgetsLetsTwoHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	first := locktest.Acquire(t, client(t, server, "redis:ttl=1h", nil), "r")
	server.Kill()
	second := client(t, server, "redis", nil)
	locktest.Eventually(t, "the server is known to be away", func() bool {
		return errors.Is(fails(t, second, "r"), locks.ErrUnavailable)
	})
	server.Start()
	locktest.Acquire(t, second, "r")
	if signals.Closed(first.Lost()) {
		t.Error("the first holder was told: nothing is shown")
	}
}

// TestAStoppedHolder outlives its lease on a clock that stands still, as a process that
// does, and then releases. What becomes of the next holder is the difference that
// comparing makes.
func TestAStoppedHolder(t *testing.T) {
	t.Parallel()
	for spec, twoHold := range map[string]bool{"redis": false, "redis:release=naive": true, "redis:pubsub": false} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, 1)[0]
			standing := &standingClock{Clock: clock.System()}
			stopped := locktest.Acquire(t, client(t, server, spec+optionOf(spec)+"ttl=200ms", standing), "r")
			l := client(t, server, "redis:ttl=1h", nil)
			next := locktest.Acquire(t, l, "r")
			if signals.Closed(stopped.Lost()) {
				t.Fatal("the stopped holder knows: nothing is shown")
			}
			err := stopped.Release(locktest.Within(t))
			if n := server.Do("exists", "lock:r"); (n == int64(0)) != twoHold {
				t.Errorf("the next holder's key exists %v times, want it gone: %v", n, twoHold)
			}
			if !twoHold {
				if !errors.Is(err, locks.ErrNotHeld) {
					t.Errorf("want ErrNotHeld, got %v", err)
				}
				return
			}
			locktest.Acquire(t, client(t, server, "redis", nil), "r")
			if signals.Closed(next.Lost()) {
				t.Error("the next holder was told: nothing is shown")
			}
		})
	}
}

func optionOf(spec string) string {
	if strings.Contains(spec, ":") {
		return ","
	}
	return ":"
}

// standingClock shows one time for ever, and its timers never fire.
type standingClock struct {
	clock.Clock
	once sync.Once
	at   time.Time
}

func (c *standingClock) Now() time.Time {
	c.once.Do(func() { c.at = c.Clock.Now() })
	return c.at
}

func (c *standingClock) AfterFunc(time.Duration, func()) clock.Timer {
	return c.Clock.AfterFunc(time.Hour, func() {})
}

// TestSetNXTakesWhatAClockAheadSaysIsOver, while its holder holds.
func TestSetNXTakesWhatAClockAheadSaysIsOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	held := locktest.Acquire(t, client(t, server, "redis:setnx-getset,ttl=10m", nil), "r")
	_ = fails(t, client(t, server, "redis:setnx-getset", nil), "r")
	locktest.Acquire(t, client(t, server, "redis:setnx-getset", ahead{clock.System(), time.Hour}), "r")
	if until, _ := held.Expires(); signals.Closed(held.Lost()) || time.Now().After(until) {
		t.Error("the first holder holds no longer: nothing is shown")
	}
}

// TestSetNXLoserOverwritesTheWinner has many clients take over one expired key at once,
// until a loser's value is what stays there.
func TestSetNXLoserOverwritesTheWinner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	var clients []locks.Locker
	for range 8 {
		clients = append(clients, client(t, server, "redis:setnx-getset,ttl=10m", nil))
	}
	round := 0
	locktest.Eventually(t, "a loser overwrites the winner's value", func() bool {
		round++
		resource := fmt.Sprint("r", round)
		server.Do("set", "lock:"+resource, "1.expired")
		winners, errs := make(chan locks.Lease, len(clients)), make(chan error, len(clients))
		var wg sync.WaitGroup
		for _, l := range clients {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				lease, err := l.Acquire(ctx, resource)
				if err == nil {
					winners <- lease
					return
				}
				errs <- err
			})
		}
		wg.Wait()
		if n := len(winners); n > 1 {
			t.Fatalf("%d clients took over an expired key", n)
		} else if n == 0 { // the machine was too busy for all of them
			return false
		}
		return errors.Is((<-winners).Release(locktest.Within(t)), locks.ErrNotHeld)
	})
	resource := fmt.Sprint("r", round)
	if n := server.Do("exists", "lock:"+resource); n != int64(1) {
		t.Error("the loser's value is gone")
	}
	if ms := server.Do("pttl", "lock:"+resource); ms != int64(-1) {
		t.Errorf("the key ends by itself, in %v ms", ms)
	}
	_ = fails(t, clients[0], resource)
}

// TestWatchAborts has many clients begin their transactions together. Every transaction
// but one is aborted, and of a retry nobody who does not win has anything.
func TestWatchAborts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	var wg sync.WaitGroup
	for range 8 {
		l := client(t, server, "redis:watch,delay=1ms", nil)
		wg.Go(func() {
			for range 20 {
				locktest.Release(t, locktest.Acquire(t, l, "r"))
			}
		})
	}
	wg.Wait()
	count := func(command string) (n int) {
		_, text, _ := strings.Cut(server.Do("info", "commandstats").(string), "cmdstat_"+command+":calls=")
		_, _ = fmt.Sscanf(text, "%d", &n)
		return n
	}
	if execs, sets := count("exec"), count("set"); sets < 8*20 || execs <= sets {
		t.Errorf("%d transactions set the key %d times: none was aborted", execs, sets)
	}
}

// TestPubSubWakesTheHerd: one release, one grant, and every waiter of every process tries.
func TestPubSubWakesTheHerd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	holder := locktest.Acquire(t, client(t, server, "redis", nil), "r")
	const waiters = 8
	clients := make([]interface {
		locks.Locker
		locks.MessageCounter
	}, waiters)
	var wg sync.WaitGroup
	grants := make(chan locks.Lease, waiters)
	for i := range clients {
		clients[i] = client(t, server, "redis:pubsub,ttl=1h,delay=1h", nil)
		wg.Go(func() { grants <- locktest.Acquire(t, clients[i], "r") })
	}
	locktest.Eventually(t, "all wait for a message", func() bool {
		quiet := true
		for _, l := range clients {
			quiet = quiet && l.MessagesSent() >= 10 // two attempts with their deletions, and PTTL
		}
		return quiet
	})
	before := make([]uint64, waiters)
	for i, l := range clients {
		before[i] = l.MessagesSent()
	}
	server.Do("del", "lock:r")
	server.Do("publish", "free:r", "")
	_ = holder
	next := <-grants
	for i, l := range clients {
		locktest.Eventually(t, "every waiter hears and tries", func() bool { return l.MessagesSent() >= before[i]+3 })
	}
	for range waiters - 1 { // the messages of the script bring everybody on
		locktest.Release(t, next)
		next = <-grants
	}
	wg.Wait()
	_ = next.Release(locktest.Within(t))
}

// TestPubSubOutlivesALostMessage: the holder's process is gone and publishes nothing, with
// pauses of an hour.
func TestPubSubOutlivesALostMessage(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	server.Do("set", "lock:r", "of somebody who is gone", "px", 500)
	locktest.Release(t, locktest.Acquire(t, client(t, server, "redis:pubsub,delay=1h", nil), "r"))
}

// TestOutcomes: what an error of the server means is in the package's comment.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"redis", "redis:setnx-getset", "redis:watch", "redis:pubsub"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, 1)[0]
			l := client(t, server, spec, nil)
			warm := locktest.Acquire(t, l, "warm")
			server.Do("config", "set", "min-replicas-to-write", 1) // NOREPLICAS
			if err := fails(t, l, "refused"); locks.OutcomeOf(err) != locks.OutcomeFailed || !errors.Is(err, locks.ErrUnavailable) {
				t.Errorf("the server refuses to write: want surely not, unavailable, got %v", err)
			}
			server.Do("config", "set", "min-replicas-to-write", 0)
			locktest.Release(t, warm)
			server.Pause()
			err := fails(t, l, "silent")
			server.Resume()
			if spec != "redis:watch" && !errors.Is(err, locks.ErrUnknown) { // it hangs in WATCH, which sets nothing
				t.Errorf("the server says nothing: want ErrUnknown, got %v", err)
			}
			server.Kill()
			locktest.Eventually(t, "the connections are found broken", func() bool {
				return errors.Is(fails(t, l, "gone"), locks.ErrNotAcquired)
			})
		})
	}
}
