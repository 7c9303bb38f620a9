package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/pglock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func url(addr string) string { return "postgres://locklab@" + addr + "/postgres?sslmode=disable" }

func newClient(tb testing.TB, addr string, c clock.Clock, spec string) *pglock.Locker {
	tb.Helper()
	l, err := pglock.New(pglock.Config{URL: url(addr), Options: locktest.Options(tb, pglock.ParseOptions, spec), Clock: c})
	return locktest.Open(tb, l, err)
}

func TestConforms(t *testing.T) {
	addr := startServer(t)
	for _, spec := range []string{"postgres", "postgres:advisory", "postgres:lease,ttl=1s,delay=5ms"} {
		t.Run(spec, func(t *testing.T) {
			s := locktest.Clients(time.Second, nil, func(tb testing.TB, c clock.Clock) *pglock.Locker { return newClient(tb, addr, c, spec) })
			if !strings.Contains(spec, "lease") {
				s.Leases = nil
			}
			locktest.Run(t, s)
		})
	}
}

// TestExhaustion: holders and waiters keep a connection each; who finds none is told so.
func TestExhaustion(t *testing.T) {
	addr := startServer(t)
	l := newClient(t, addr, nil, "postgres:conns=2,timeout=100ms")
	locktest.Acquire(t, l, "a")
	locktest.Acquire(t, l, "b")
	_, err := l.Acquire(t.Context(), "c")
	if !errors.Is(err, locks.ErrUnavailable) || !errors.Is(err, locks.ErrNotAcquired) || !strings.Contains(fmt.Sprint(err), "all connections are in use") {
		t.Errorf("with every connection in use: %v", err)
	}
	leases := newClient(t, addr, nil, "postgres:lease,conns=1")
	for _, resource := range []string{"d", "e", "f"} { // leases keep none
		locktest.Acquire(t, leases, resource)
	}
}

// TestASessionThatIsCut: the holder is told, the server frees the lock at once, and a token
// that was given is not given again. Without a reset nobody would be told, see doc.go.
func TestASessionThatIsCut(t *testing.T) {
	addr := startServer(t)
	for _, spec := range []string{"postgres:timeout=100ms", "postgres:advisory,timeout=100ms", "postgres:lease,ttl=500ms,timeout=100ms"} {
		t.Run(spec, func(t *testing.T) {
			link := locktest.NewLink(t, addr)
			holder, other := newClient(t, link.Addr(), nil, spec), newClient(t, addr, nil, spec)
			first := locktest.Acquire(t, holder, spec)
			link.Cut(true)
			second := locktest.Acquire(t, other, spec)
			locktest.AwaitLost(t, first)
			before, _ := first.Token()
			if after, _ := second.Token(); after <= before {
				t.Errorf("token %d after %d", after, before)
			}
			if err := first.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("release after the loss: %v", err)
			}
		})
	}
}

// still is the clock of a process that stands still: its timers do not fire.
type still struct{ clock.Clock }

func (s still) AfterFunc(_ time.Duration, f func()) clock.Timer {
	return s.Clock.AfterFunc(time.Hour, f)
}

// TestASilentHolderBlocks: a holder that stands still keeps the lock for as long as its
// session lives, which is what leases are for.
func TestASilentHolderBlocks(t *testing.T) {
	addr := startServer(t)
	for spec, blocks := range map[string]bool{"postgres": true, "postgres:advisory": true, "postgres:lease,ttl=200ms,timeout=100ms": false} {
		locktest.Acquire(t, newClient(t, addr, still{clock.System()}, spec), spec)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := newClient(t, addr, nil, spec).Acquire(ctx, spec)
		if blocks && !errors.Is(err, context.DeadlineExceeded) || !blocks && err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestCloseOfAClientThatIsCutOff does not wait for servers that say nothing: pgx on its own
// asks them for up to 15 s to forget what it asked for, and to hang up.
func TestCloseOfAClientThatIsCutOff(t *testing.T) {
	addr := startServer(t)
	for _, spec := range []string{"postgres:timeout=500ms", "postgres:advisory,timeout=500ms", "postgres:lease,ttl=1s,timeout=500ms"} {
		t.Run(spec, func(t *testing.T) {
			link := locktest.NewLink(t, addr)
			l := newClient(t, link.Addr(), nil, spec)
			for _, resource := range []string{"a", "b", "c"} { // whose connections are open
				locktest.Release(t, locktest.Acquire(t, l, resource))
			}
			locktest.Acquire(t, l, "held")
			link.Hold(true)
			for range 3 { // who has asked and gives up
				_ = locktest.Refused(t, l, "a", 100*time.Millisecond)
			}
			began := clock.System().Now()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if took := clock.System().Now().Sub(began); took > 8*time.Second {
				t.Errorf("Close took %v, with a timeout of 500ms", took)
			}
		})
	}
}

// TestWhatWasNotAskedIsNotUnknown: nothing can have been granted while a statement was prepared
// only, or a row made. What was asked for may have been, if nobody answers.
func TestWhatWasNotAskedIsNotUnknown(t *testing.T) {
	addr := startServer(t)
	locktest.Acquire(t, newClient(t, addr, nil, "postgres"), "there") // makes the tables
	for spec, at := range map[string]struct{ lock, insert string }{
		"postgres":          {"FOR UPDATE", "INSERT"},
		"postgres:advisory": {"pg_advisory_lock", ""},
		"postgres:lease":    {"UPDATE public.locklab_locks", "INSERT"},
	} {
		for text, unknown := range map[string]bool{at.lock: false, at.insert: false, "name-" + spec: true} {
			if text == "" {
				continue
			}
			t.Run(spec+" "+text, func(t *testing.T) {
				link := locktest.NewLink(t, addr)
				link.CutAt(text)
				err := locktest.Refused(t, newClient(t, link.Addr(), nil, spec), "name-"+spec, 3*time.Second)
				if !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrUnknown) != unknown || errors.Is(err, locks.ErrNotAcquired) == unknown {
					t.Errorf("cut in place of asking for %q: %v", text, err)
				}
			})
		}
	}
}

func TestOptions(t *testing.T) {
	locktest.Specs(t, pglock.ParseOptions, map[string]string{
		"postgres:ttl=1s": "unknown option", "postgres:lease,lock_timeout=1s": "unknown option", "postgres:conns=0": "from 1 to 1000",
		"postgres:lease,ttl=1ms": "50ms to 1h", "postgres:pool": "unknown variant",
	})
}
