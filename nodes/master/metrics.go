package master

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/metrics"
)

// lockMetrics count what a Tracker sees of its lock.
type lockMetrics struct {
	acquired *prometheus.CounterVec
	released *prometheus.CounterVec
	took     prometheus.Histogram
	held     prometheus.Histogram
	lost     prometheus.Counter

	holds, waiters, messages, wakeups *prometheus.Desc
}

func newLockMetrics() lockMetrics {
	outcome := []string{"outcome"}
	return lockMetrics{
		acquired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_lock_acquires_total", Help: "Acquisitions that have ended: ok is granted, failed surely not, unknown perhaps.",
		}, outcome),
		released: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_lock_releases_total", Help: "Releases that have ended, by outcome.",
		}, outcome),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "locklab_lock_acquire_duration_seconds", Help: "How long it took until the lock was granted.", Buckets: metrics.Buckets(),
		}),
		held: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "locklab_lock_hold_duration_seconds", Help: "How long the lock was held until its release was sent.", Buckets: metrics.Buckets(),
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "locklab_lock_losses_total", Help: "Leases that had been lost when they were to be released.",
		}),
		holds:    prometheus.NewDesc("locklab_lock_holds", "Leases that are held now.", nil, nil),
		waiters:  prometheus.NewDesc("locklab_lock_waiters", "Acquisitions that wait now.", nil, nil),
		messages: prometheus.NewDesc("locklab_lock_messages_total", "Messages of the lock's protocol that this client has sent; 0 if it does not count them.", nil, nil),
		wakeups:  prometheus.NewDesc("locklab_lock_wakeups_total", "Times that a waiter was woken to look whether it is its turn; 0 if it does not count them.", nil, nil),
	}
}

// seconds is a time on clock.Mono in the unit of Prometheus.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

var _ prometheus.Collector = (*Tracker)(nil)

// Describe implements prometheus.Collector.
func (t *Tracker) Describe(into chan<- *prometheus.Desc) { prometheus.DescribeByCollect(t, into) }

// Collect implements prometheus.Collector.
func (t *Tracker) Collect(into chan<- prometheus.Metric) {
	m := &t.metrics
	for _, c := range []prometheus.Collector{m.acquired, m.released, m.took, m.held, m.lost} {
		c.Collect(into)
	}
	t.mu.Lock()
	holds, waiting := len(t.held), t.waiting
	t.mu.Unlock()
	into <- prometheus.MustNewConstMetric(m.holds, prometheus.GaugeValue, float64(holds))
	into <- prometheus.MustNewConstMetric(m.waiters, prometheus.GaugeValue, float64(waiting))
	into <- prometheus.MustNewConstMetric(m.messages, prometheus.CounterValue, float64(t.MessagesSent()))
	into <- prometheus.MustNewConstMetric(m.wakeups, prometheus.CounterValue, float64(t.Wakeups()))
}

// matchMetrics count what a master does for players.
type matchMetrics struct {
	took     *prometheus.HistogramVec
	inFlight *prometheus.Desc
	known    *prometheus.Desc
}

func newMatchMetrics() matchMetrics {
	return matchMetrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "locklab_match_duration_seconds", Help: "How long it took to find a player a seat, by outcome.", Buckets: metrics.Buckets(),
		}, []string{"outcome"}),
		inFlight: prometheus.NewDesc("locklab_matches_in_flight", "Match requests under way.", nil, nil),
		known:    prometheus.NewDesc("locklab_master_known_rooms", "Rooms that this master knows of.", nil, nil),
	}
}

var _ prometheus.Collector = (*Master)(nil)

// Describe implements prometheus.Collector.
func (m *Master) Describe(into chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, into) }

// Collect implements prometheus.Collector.
func (m *Master) Collect(into chan<- prometheus.Metric) {
	m.metrics.took.Collect(into)
	rooms, _ := m.directory.status(m.remotes)
	into <- prometheus.MustNewConstMetric(m.metrics.inFlight, prometheus.GaugeValue, float64(m.matches.Load()))
	into <- prometheus.MustNewConstMetric(m.metrics.known, prometheus.GaugeValue, float64(rooms))
}
