package redsync_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock/redistest"
	"locklab/locks/redsync"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 3 * time.Second // the default

func client(tb testing.TB, servers []*redistest.Server, c clock.Clock) *redsync.Locker {
	tb.Helper()
	l, err := redsync.New(redsync.Config{Addrs: redistest.Addrs(servers), Clock: c})
	return locktest.Open(tb, l, err)
}

func TestConforms(t *testing.T) {
	servers := redistest.Start(t, 5)
	s := locktest.Clients(ttl, func() { redistest.Forget(servers) }, func(tb testing.TB, c clock.Clock) *redsync.Locker {
		return client(tb, servers, c)
	})
	s.CloseFreesWithin = 5 * ttl // who gives up in a try leaves its keys
	locktest.Run(t, s)
}

// TestGivingUpLeavesKeysBehind: a wait ends in the middle of a try, and two instances that
// answered keep the key although nobody holds anything.
func TestGivingUpLeavesKeysBehind(t *testing.T) {
	servers := redistest.Start(t, 5)
	l := client(t, servers, nil)
	for _, s := range servers[:3] {
		s.Pause()
		defer s.Resume()
	}
	if err := locktest.Refused(t, l, "r", 50*time.Millisecond); !errors.Is(err, locks.ErrUnknown) { // a try takes up to 150
		t.Errorf("want ErrUnknown, got %v", err)
	}
	for _, s := range servers[3:] {
		if n := s.Do("exists", "redsync:r"); n != int64(1) {
			t.Errorf("%s has no key any more: the library has learned to clean up", s.Name)
		}
	}
}

// TestNothingExtends: a lease is over although its holder goes on, and a second one holds.
func TestNothingExtends(t *testing.T) {
	servers := redistest.Start(t, 5)
	held, err := client(t, servers, nil).Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, servers, nil).Acquire(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if !signals.Closed(held.Lost()) {
		t.Error("the first holder was not told")
	}
	if err := held.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("want ErrNotHeld, got %v", err)
	}
}

// deafTo passes on to a server what it is sent, and loses one answer when told to.
func deafTo(tb testing.TB, server *redistest.Server) (addr string, lose *atomic.Bool) {
	tb.Helper()
	lose = &atomic.Bool{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var running sync.WaitGroup
	tb.Cleanup(running.Wait)
	tb.Cleanup(func() { _ = listener.Close() })
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", server.Addr())
			if err != nil {
				_ = client.Close()
				continue
			}
			running.Go(func() {
				_, _ = io.Copy(there, client)
				_ = there.Close()
			})
			running.Go(func() {
				answer := make([]byte, 4096)
				for {
					n, err := there.Read(answer)
					if err != nil || lose.CompareAndSwap(true, false) {
						_ = client.Close()
						return
					}
					_, _ = client.Write(answer[:n])
				}
			})
		}
	})
	return listener.Addr().String(), lose
}

// TestALostAnswerIsNoLoss: deletions whose answers are lost were of keys that were there.
// One more key that was gone does not make the hold one that had ended.
func TestALostAnswerIsNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		gone int // how many of three keys are
		want error
	}{"all were there": {0, locks.ErrUnknown}, "a quorum was there": {1, locks.ErrUnknown}, "a quorum was gone": {2, locks.ErrNotHeld}} {
		t.Run(name, func(t *testing.T) {
			servers := redistest.Start(t, 3)
			var addrs []string
			var lose []*atomic.Bool
			for _, s := range servers {
				addr, l := deafTo(t, s)
				addrs, lose = append(addrs, addr), append(lose, l)
			}
			l, err := redsync.New(redsync.Config{Addrs: addrs})
			locktest.Open(t, l, err)
			locktest.Release(t, locktest.Acquire(t, l, "warm")) // the servers know the script now
			held := locktest.Acquire(t, l, "r")
			for i, s := range servers {
				if i < c.gone {
					s.Do("del", "redsync:r")
				}
				lose[i].Store(i >= c.gone)
			}
			if err := held.Release(locktest.Within(t)); !errors.Is(err, c.want) {
				t.Errorf("release: want %v, got %v", c.want, err)
			}
			for _, s := range servers {
				if n := s.Do("exists", "redsync:r"); n != int64(0) {
					t.Errorf("%s still has the key: no answer was lost", s.Name)
				}
			}
		})
	}
}

// TestServersThatMayEvictAreRefused and named once no quorum is left without them.
func TestServersThatMayEvictAreRefused(t *testing.T) {
	servers := redistest.Start(t, 3)
	servers[0].MayEvict("allkeys-lru")
	locktest.Release(t, locktest.Acquire(t, client(t, servers, nil), "r"))
	servers[1].MayEvict("volatile-ttl")
	err := locktest.Refused(t, client(t, servers, nil), "r", 500*time.Millisecond)
	if !errors.Is(err, locks.ErrInvalid) || !strings.Contains(err.Error(), servers[1].Addr()+": maxmemory-policy is volatile-ttl") {
		t.Errorf("want the servers and their settings, got %v", err)
	}
}

// TestAPolicyStopsNoRelease that changed during the hold, once connections are made anew.
func TestAPolicyStopsNoRelease(t *testing.T) {
	servers := redistest.Start(t, 3)
	l := client(t, servers, nil)
	held := locktest.Acquire(t, l, "r")
	for _, s := range servers {
		s.MayEvict("volatile-lru")
		s.Do("client", "kill", "type", "normal")
	}
	locktest.Release(t, held)
	for _, s := range servers {
		if n := s.Do("exists", "redsync:r"); n != int64(0) {
			t.Errorf("%s still has the key", s.Name)
		}
	}
	if err := locktest.Refused(t, l, "r", 500*time.Millisecond); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("want ErrInvalid, got %v", err)
	}
}

// TestAWrongClockMovesNoValidity: the library reckons by the process's time, so what is left of
// a grant must not be read off a clock that has run away from that.
func TestAWrongClockMovesNoValidity(t *testing.T) {
	servers := redistest.Start(t, 5)
	wrong := clock.NewSkewed(clock.System())
	wrong.Set(0, 1e6) // a second makes eleven days
	before := clock.System().Now()
	locktest.Eventually(t, "the clock runs away", func() bool { return wrong.Now().Sub(before) > time.Hour })
	wrong.Set(0, 1)
	lease, err := client(t, servers, wrong).Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	until, _ := lease.Expires()
	if signals.Closed(lease.Lost()) && wrong.Now().Before(until) {
		t.Error("it was lost at once")
	}
	if left := until.Sub(wrong.Now()); left > ttl || left < -time.Minute {
		t.Errorf("by its clock %v is left", left)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	locktest.Specs(t, redsync.ParseOptions, map[string]string{
		"redsync": "", "redsync:ttl=1s,persistence=always": "", "redsync:ttl=1ms": "ttl", "redsync:ttl=2562047h": "at most 8760h", "redsync:delay=1s": "unknown option",
	})
	if _, err := redsync.New(redsync.Config{}); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("no addresses: want ErrInvalid, got %v", err)
	}
}
