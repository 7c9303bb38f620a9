package master

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"locklab/internal/metrics"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// Tracker is a Locker that tracks its holds. The status shows them, so that a fault can be
// aimed at the holder. It collects the metrics of the lock.
type Tracker struct {
	prometheus.Collector
	locker locks.Locker
	points *process.Points

	acquired *prometheus.CounterVec
	took     prometheus.Histogram
	lost     prometheus.Counter

	mu      sync.Mutex
	held    map[*trackedLease]struct{}
	waiting int
}

// Held is one unreleased lease.
type Held struct {
	Resource string `json:"resource"`
	AgeNS    int64  `json:"age_ns"` // at the time of the status
}

var (
	_ locks.Locker         = (*Tracker)(nil)
	_ locks.MessageCounter = (*Tracker)(nil)
	_ locks.WakeupCounter  = (*Tracker)(nil)
	_ locks.Storer         = (*trackedLease)(nil)
)

// Track wraps a Locker. Its clients pass points, which may be nil, before they acquire and release. The status
// of a master shows the holds of all Mounts that share its Tracker.
func Track(locker locks.Locker, points *process.Points) *Tracker {
	all := prometheus.NewRegistry()
	with := promauto.With(all)
	t := &Tracker{
		Collector: all, locker: locker, points: points, held: map[*trackedLease]struct{}{},
		acquired: with.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_lock_acquires_total",
			Help: "Acquisitions that have ended: ok is granted, failed surely not, unknown perhaps.",
		}, []string{"outcome"}),
		took: with.NewHistogram(prometheus.HistogramOpts{
			Name: "locklab_lock_acquire_duration_seconds", Help: "How long it took until the lock was granted.",
			Buckets: metrics.Buckets(),
		}),
		lost: with.NewCounter(prometheus.CounterOpts{
			Name: "locklab_lock_losses_total", Help: "Leases that had been lost when they were to be released.",
		}),
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{Name: "locklab_lock_holds", Help: "Leases that are held now."},
		func() float64 { return float64(len(t.Status().Holds)) })
	with.NewGaugeFunc(prometheus.GaugeOpts{Name: "locklab_lock_waiters", Help: "Acquisitions that wait now."},
		func() float64 { return float64(t.Status().Waiting) })
	with.NewCounterFunc(prometheus.CounterOpts{
		Name: "locklab_lock_messages_total",
		Help: "Messages of the lock's protocol that this client has sent; 0 if it does not count them.",
	}, func() float64 { return float64(t.MessagesSent()) })
	return t
}

// seconds converts a duration of clock.Mono into the unit of Prometheus.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// Acquire acquires and tracks the lease.
func (t *Tracker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	asked := clock.Mono()
	t.wait(1)
	t.points.Pass(history.PointAcquiring, resource)
	lease, err := t.locker.Acquire(ctx, resource)
	t.wait(-1)
	t.acquired.WithLabelValues(string(locks.OutcomeOf(err))).Inc()
	if err != nil {
		return nil, err
	}
	tracked := &trackedLease{Lease: lease, tracker: t, resource: resource, sinceNS: clock.Mono()}
	t.took.Observe(seconds(tracked.sinceNS - asked))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[tracked] = struct{}{}
	return tracked, nil
}

func (t *Tracker) wait(change int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += change
}

// Close closes the Locker.
func (t *Tracker) Close() error { return t.locker.Close() }

// MessagesSent returns the Locker's count, 0 if it does not count.
func (t *Tracker) MessagesSent() uint64 {
	if counter, ok := t.locker.(locks.MessageCounter); ok {
		return counter.MessagesSent()
	}
	return 0
}

// Wakeups returns the Locker's count, 0 if it does not count.
func (t *Tracker) Wakeups() uint64 {
	if counter, ok := t.locker.(locks.WakeupCounter); ok {
		return counter.Wakeups()
	}
	return 0
}

// Ready waits until the Locker is ready, if it has a method Ready.
func (t *Tracker) Ready(ctx context.Context) error {
	if r, ok := t.locker.(interface{ Ready(context.Context) error }); ok {
		return r.Ready(ctx)
	}
	return nil
}

// Status returns the holds, the oldest first, and the number of waiting calls of Acquire.
func (t *Tracker) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := make([]Held, 0, len(t.held))
	now := clock.Mono()
	for l := range t.held {
		held = append(held, Held{l.resource, now - l.sinceNS})
	}
	slices.SortFunc(held, func(a, b Held) int { return cmp.Compare(b.AgeNS, a.AgeNS) })
	return Status{held, t.waiting}
}

// trackedLease counts as held until its release begins, after which its holder acts no more.
type trackedLease struct {
	locks.Lease
	tracker  *Tracker
	resource string
	sinceNS  int64 // on clock.Mono
}

// Store returns the lease's store, if it has one.
func (l *trackedLease) Store() (locks.Store, bool) {
	if s, ok := l.Lease.(locks.Storer); ok {
		return s.Store()
	}
	return nil, false
}

func (l *trackedLease) Release(ctx context.Context) error {
	t := l.tracker
	t.mu.Lock()
	_, first := t.held[l]
	delete(t.held, l)
	t.mu.Unlock()
	if !first {
		return l.Lease.Release(ctx)
	}
	if signals.Closed(l.Lost()) {
		t.lost.Inc()
	}
	t.points.Pass(history.PointReleasing, l.resource)
	return l.Lease.Release(ctx)
}
