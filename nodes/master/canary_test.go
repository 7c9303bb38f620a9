package master_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/nodes/master"
	"locklab/workloads/history"
)

// TestCanary: it asks for a resource of its own, gives it back, gives up in time, and neither status nor
// metrics see it.
func TestCanary(t *testing.T) {
	l := newLab(t, 1, nil)
	var cut atomic.Bool
	var released atomic.Int64
	lease := newLease()
	lease.released = func() error {
		released.Add(1)
		return nil
	}
	lock := &scripted{leases: []*fakeLease{lease}, before: func(ctx context.Context) error {
		if !cut.Load() {
			return nil
		}
		<-ctx.Done()
		return locks.ErrNotAcquired
	}}
	tracker := master.Track(lock, nil)
	deps := l.deps(nil)
	deps.Locker = tracker
	s := master.DefaultSettings()
	s.Name, s.Zone, s.Workers, s.ReleaseTimeout = "a", "a", l.addrs, 20*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	m := master.New(ctx, s, deps)
	go func() { done <- m.Serve(ctx, "127.0.0.1:0", func(net.Addr) { close(ready) }) }()
	<-ready
	seen := func(outcome locks.Outcome) (n int) {
		for _, e := range l.journal.Events(history.KindAcquire) {
			if e.Node != "a" || e.Client != "canary" || e.Resource != "canary-a" || e.Hold != "" || e.FromNS > e.AtNS || e.FromNS == 0 {
				t.Errorf("a canary's event is %+v", e)
			}
			if e.Outcome == string(outcome) {
				n++
			}
		}
		return n
	}
	locktest.Eventually(t, "grants", func() bool { return seen(locks.OutcomeOK) >= 2 })
	cut.Store(true)
	locktest.Eventually(t, "a refusal", func() bool { return seen(locks.OutcomeFailed) >= 2 })
	granted := seen(locks.OutcomeOK)
	cut.Store(false)
	locktest.Eventually(t, "grants again", func() bool { return seen(locks.OutcomeOK) > granted })
	if s := tracker.Status(); len(s.Holds) > 0 || s.Waiting > 0 || len(l.journal.Events(history.KindRelease)) > 0 {
		t.Errorf("a canary is seen: %+v", s)
	}
	cancel()
	must.Do(t, <-done)
	if got, want := released.Load(), int64(seen(locks.OutcomeOK)); got != want {
		t.Errorf("%d releases of %d grants", got, want)
	}
}
