package redlock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

// fails acquires with the patience given, which must not be enough.
func fails(t *testing.T, l *redlock.Locker, resource string, patience time.Duration) error {
	t.Helper()
	err := locktest.Refused(t, l, resource, patience)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not wrap the context's: %v", err)
	}
	return err
}

func key(resource string) string { return "lock:" + resource }

// carriers counts the servers that have the resource's key.
func carriers(servers []*redistest.Server, resource string) int {
	n := 0
	for _, s := range servers {
		if s.Do("exists", key(resource)) == int64(1) {
			n++
		}
	}
	return n
}

func TestMinorityDown(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 5)
	l := newClient(t, servers, nil)
	locktest.Acquire(t, l, "warm")
	servers[1].Kill()
	servers[4].Kill()
	for range 20 {
		locktest.Release(t, locktest.Acquire(t, l, "down"))
	}
	servers[1].Start()
	servers[4].Start()
	locktest.Eventually(t, "the returned instances are asked again", func() bool {
		lease := locktest.Acquire(t, l, "back")
		n := 0
		for range 50 { // the answers of the last instances may come later
			if n = carriers(servers, "back"); n == 5 {
				break
			}
		}
		locktest.Release(t, lease)
		return n == 5
	})
}

func TestAllDown(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 3)
	l := newClient(t, servers, nil)
	locktest.Release(t, locktest.Acquire(t, l, "warm"))
	for _, s := range servers {
		s.Kill()
	}
	locktest.Eventually(t, "connections are found broken", func() bool {
		err := fails(t, l, "down", 50*time.Millisecond)
		if !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("want ErrUnavailable, got %v", err)
		}
		return errors.Is(err, locks.ErrNotAcquired) // nothing ever left
	})
	for _, s := range servers {
		s.Start()
	}
	locktest.Release(t, locktest.Acquire(t, l, "down"))
}

// TestPausedMajority stops a quorum of the servers, so that what they were sent is
// open, and lets them go on: the late yes is deleted.
func TestPausedMajority(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 5)
	l := newClient(t, servers, func(o *redlock.Options) { o.TTL, o.Timeout = time.Hour, 100*time.Millisecond })
	locktest.Release(t, locktest.Acquire(t, l, "warm"))
	lease := locktest.Acquire(t, l, "held")
	locktest.Eventually(t, "the key is everywhere", func() bool { return carriers(servers, "held") == 5 })
	for _, s := range servers[:3] {
		s.Pause()
	}
	err := fails(t, l, "paused", 50*time.Millisecond)
	if !errors.Is(err, locks.ErrUnknown) || !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("three of five were sent SET and said nothing: want ErrUnknown and ErrUnavailable, got %v", err)
	}
	if err := lease.Release(locktest.Within(t)); !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("release with three of five silent: want ErrUnknown, got %v", err)
	}
	for _, s := range servers[:3] {
		s.Resume()
	}
	// With a TTL of an hour only deletions can free them.
	locktest.Eventually(t, "late keys are deleted", func() bool { return carriers(servers, "paused")+carriers(servers, "held") == 0 })
	locktest.Release(t, locktest.Acquire(t, l, "paused"))
}

func TestPausedMinoritySlowsNobody(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 5)
	l := newClient(t, servers, func(o *redlock.Options) { o.TTL, o.Timeout = 2*time.Hour, time.Hour })
	servers[0].Pause()
	servers[3].Pause()
	defer servers[0].Resume() // or Close would wait for them
	defer servers[3].Resume()
	for range 20 { // with an hour for each instance, one wait would never end
		locktest.Release(t, locktest.Acquire(t, l, "slow"))
	}
}

// TestLostMemory is the control: a server that forgets lets a second client in.
func TestLostMemory(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 5)
	a, b := newClient(t, servers, noExtension), newClient(t, servers, noExtension)
	servers[3].Kill() // so that a's quorum is exactly three
	servers[4].Kill()
	first := locktest.Acquire(t, a, "forgotten")
	locktest.Eventually(t, "the key is on the three", func() bool { return carriers(servers[:3], "forgotten") == 3 })
	_ = fails(t, b, "forgotten", 100*time.Millisecond)
	servers[3].Start()
	servers[4].Start()
	_ = fails(t, b, "forgotten", 100*time.Millisecond)
	servers[2].Kill()
	servers[2].Start() // without its memory
	second := locktest.Acquire(t, b, "forgotten")
	if signals.Closed(first.Lost()) {
		t.Error("the first holder noticed: the control shows nothing")
	}
	locktest.Release(t, second)
	if err := first.Release(locktest.Within(t)); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("a release that finds its key on two of five: want ErrNotHeld, got %v", err)
	}
}

// deaf is a connection that loses an answer when it is told to.
type deaf struct {
	net.Conn
	lose *atomic.Bool
}

func (c *deaf) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.CompareAndSwap(true, false) {
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Close())
	}
	return n, err
}

// TestALostAnswerIsNoLoss: a deletion that is sent again because its answer was lost finds
// nothing. Nobody knows whether there was something before it.
func TestALostAnswerIsNoLoss(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 1)
	var lose atomic.Bool
	o := redlock.DefaultOptions()
	noExtension(&o)
	l := open(t, redlock.Config{Addrs: redistest.Addrs(servers), Options: o, Dial: func(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, "tcp", addr)
		return &deaf{Conn: c, lose: &lose}, err
	}})
	locktest.Release(t, locktest.Acquire(t, l, "warm")) // the server knows the script now
	lease := locktest.Acquire(t, l, "held")
	lose.Store(true)
	if err := lease.Release(locktest.Within(t)); !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("release: want ErrUnknown, got %v", err)
	}
	if lose.Load() || carriers(servers, "held") != 0 {
		t.Error("the answer was not lost, or the key is still there")
	}
}

// TestOneLostMemoryIsNotEnough: both orders ask all five, so a hold survives that one
// of them forgets.
func TestOneLostMemoryIsNotEnough(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 5)
	for resource, sequential := range map[string]bool{"parallel": false, "sequential": true} {
		change := func(o *redlock.Options) { noExtension(o); o.Sequential = sequential }
		a, b := newClient(t, servers, change), newClient(t, servers, change)
		lease := locktest.Acquire(t, a, resource)
		locktest.Eventually(t, "all five carry the key", func() bool { return carriers(servers, resource) == 5 })
		servers[0].Do("flushall")
		_ = fails(t, b, resource, 100*time.Millisecond)
		if err := lease.Release(locktest.Within(t)); err != nil {
			t.Errorf("%s: release: %v", resource, err)
		}
	}
}

func noExtension(o *redlock.Options) { o.Extend, o.TTL, o.Timeout = false, time.Minute, time.Second }

// TestExtension keeps a short lease alive, where a minority lost the key too, sets no key
// again, and ends as soon as a majority lost it.
func TestExtension(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 3)
	l := newClient(t, servers, func(o *redlock.Options) { o.TTL, o.Timeout = 3*time.Second, time.Second })
	lease := locktest.Acquire(t, l, "extended")
	locktest.Eventually(t, "the key is everywhere", func() bool { return carriers(servers, "extended") == 3 })
	servers[0].Do("flushall")
	first, _ := lease.Expires()
	locktest.Eventually(t, "the lease was extended", func() bool { now, _ := lease.Expires(); return now.After(first) })
	if signals.Closed(lease.Lost()) {
		t.Fatal("lost although it was extended")
	}
	if n := carriers(servers, "extended"); n != 2 {
		t.Errorf("%d instances carry the key, want the 2 that kept it", n)
	}
	servers[1].Do("set", key("extended"), "another client's")
	locktest.AwaitLost(t, lease)
	if err := lease.Release(locktest.Within(t)); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release of a lost lease: want ErrNotHeld, got %v", err)
	}
	locktest.Eventually(t, "only the other client's key is left", func() bool { return carriers(servers, "extended") == 1 })
}

// TestTheDefaultIsTheTextbook watches waiters of the holder's process and of another
// one: all of them ask the instances again and again, and nobody queues or subscribes.
func TestTheDefaultIsTheTextbook(t *testing.T) {
	t.Parallel()
	servers := redistest.Start(t, 3)
	options := locktest.Options(t, redlock.ParseOptions, "redlock")
	change := func(o *redlock.Options) { *o = options }
	clients := []*redlock.Locker{newClient(t, servers, change), newClient(t, servers, change)}
	lease := locktest.Acquire(t, clients[0], "textbook")
	before := []uint64{clients[0].MessagesSent(), clients[1].MessagesSent()}
	var wg sync.WaitGroup
	for _, l := range clients {
		wg.Go(func() {
			locktest.Release(t, locktest.Acquire(t, l, "textbook"))
		})
	}
	for i, l := range clients {
		locktest.Eventually(t, "every waiter asks all three several times", func() bool { return l.MessagesSent() > before[i]+2*3*4 })
	}
	locktest.Release(t, lease)
	wg.Wait()
	for _, s := range servers {
		stats := s.Do("info", "commandstats").(string)
		for _, command := range []string{"subscribe", "publish", "zadd"} {
			if strings.Contains(stats, "cmdstat_"+command+":") {
				t.Errorf("%s was sent %s, which the documents know nothing of", s.Name, command)
			}
		}
	}
}
