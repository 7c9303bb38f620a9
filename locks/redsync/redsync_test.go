package redsync_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock/redistest"
	"locklab/locks/redsync"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 3 * time.Second // the default

func client(tb testing.TB, servers []*redistest.Server) *redsync.Locker {
	tb.Helper()
	options := locktest.Options(tb, redsync.ParseOptions, "redsync")
	return locktest.Open(tb, redsync.New(redsync.Config{Addrs: redistest.Addrs(servers), Options: options}), nil)
}

func TestConforms(t *testing.T) {
	servers := redistest.Start(t, 5)
	locktest.Run(t, locktest.Subject{
		CloseFreesWithin: 5 * ttl, // nothing is released then
		Leases:           &locktest.Leases{Time: ttl},
		New: func(tb testing.TB) (all []locks.Locker) {
			redistest.Forget(servers)
			for range 3 {
				all = append(all, client(tb, servers))
			}
			return all
		},
	})
}

// TestGivingUpLeavesKeysBehind: a wait ends in the middle of a try, and two instances that
// answered keep the key although nobody holds anything.
func TestGivingUpLeavesKeysBehind(t *testing.T) {
	servers := redistest.Start(t, 5)
	l := client(t, servers)
	for _, s := range servers[:3] {
		s.Pause()
		defer s.Resume()
	}
	if err := locktest.Refused(t, l, "r", 50*time.Millisecond); !errors.Is(err, locks.ErrUnknown) { // a try takes longer
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
	held, err := client(t, servers).Acquire(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(t, servers).Acquire(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if !signals.Closed(held.Lost()) {
		t.Error("the first holder was not told")
	}
	if err := held.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("want ErrNotHeld, got %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	locktest.Specs(t, redsync.ParseOptions, map[string]string{
		"redsync": "", "redsync:ttl=1s,persistence=always": "", "redsync:ttl=1ms": "ttl", "redsync:ttl=2562047h": "at most 8760h", "redsync:delay=1s": "unknown option",
	})
}
