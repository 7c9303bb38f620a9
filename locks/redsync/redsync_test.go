package redsync_test

import (
	"errors"
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
		"redsync": "", "redsync:ttl=1s,persistence=always": "", "redsync:ttl=1ms": "ttl", "redsync:delay=1s": "unknown option",
	})
	if _, err := redsync.New(redsync.Config{}); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("no addresses: want ErrInvalid, got %v", err)
	}
}
