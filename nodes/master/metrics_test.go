package master_test

import (
	"context"
	"errors"
	"testing"

	"locklab/internal/metrics/metricstest"
	"locklab/locks"
	"locklab/nodes/master"
)

func TestLockMetrics(t *testing.T) {
	var answer error
	lost := newLease()
	close(lost.lost)
	lost.released = func() error { return locks.ErrNotHeld }
	tracker := master.Track(&scripted{leases: []*fakeLease{lost}, before: func(context.Context) error { return answer }}, nil)
	var leases []locks.Lease
	for _, err := range []error{nil, nil, locks.ErrNotAcquired, locks.ErrUnknown, errors.New("who knows")} {
		answer = err
		if lease, err := tracker.Acquire(t.Context(), "r"); err == nil {
			leases = append(leases, lease)
		}
	}
	for range 2 { // the second time is no second release
		if err := leases[0].Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
			t.Error(err)
		}
	}
	metricstest.Has(t, metricstest.Page(t, tracker),
		`locklab_lock_acquires_total{outcome="ok"} 2`,
		`locklab_lock_acquires_total{outcome="failed"} 1`,
		`locklab_lock_acquires_total{outcome="unknown"} 2`,
		`locklab_lock_acquire_duration_seconds_count 2`,
		`locklab_lock_losses_total 1`,
		`locklab_lock_holds 1`,
		`locklab_lock_waiters 0`,
	)
}

func TestMatchMetrics(t *testing.T) {
	l := newLab(t, 1, nil)
	m := l.master("a", sharedLock(t), nil)
	if _, _, err := m.Match(t.Context(), master.MatchRequest{Player: "p", Group: "g"}); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Match(gone, master.MatchRequest{Player: "q", Group: "h"}); err == nil {
		t.Error("a player that has left got a seat")
	}
	metricstest.Has(t, metricstest.Page(t, m),
		`locklab_match_duration_seconds_count{outcome="ok"} 1`,
		`locklab_match_duration_seconds_count{outcome="failed"} 1`,
	)
}
