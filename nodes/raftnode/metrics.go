package raftnode

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// figure is one of a server's metrics.
type figure struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func newFigure(kind prometheus.ValueType, name, help string) figure {
	return figure{prometheus.NewDesc(name, help, nil, nil), kind}
}

// metrics are what a server says of itself.
type metrics struct {
	leader, serving, term, last, commit, applied, sessions, grants, turns figure

	granted, led atomic.Uint64 // leases; terms that this server led
}

func newMetrics() *metrics {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return &metrics{
		leader:   newFigure(gauge, "locklab_raft_leader", "Whether this server leads the service."),
		serving:  newFigure(gauge, "locklab_raft_serving", "Whether this server serves clients: it leads, and has applied all of the terms before."),
		term:     newFigure(gauge, "locklab_raft_term", "The term that this server is in."),
		last:     newFigure(gauge, "locklab_raft_last_index", "The newest entry of this server's log."),
		commit:   newFigure(gauge, "locklab_raft_commit_index", "The newest entry that this server knows to be committed."),
		applied:  newFigure(gauge, "locklab_raft_applied_index", "The newest entry that this server has applied."),
		sessions: newFigure(gauge, "locklab_raft_streams", "Streams of clients that this server serves."),
		grants:   newFigure(counter, "locklab_raft_grants_total", "Leases that were granted while this server served."),
		turns:    newFigure(counter, "locklab_raft_leaderships_total", "How often this server began to lead."),
	}
}

func (m *metrics) figures() []figure {
	return []figure{m.leader, m.serving, m.term, m.last, m.commit, m.applied, m.sessions, m.grants, m.turns}
}

var _ prometheus.Collector = (*Server)(nil)

// Describe implements prometheus.Collector.
func (s *Server) Describe(into chan<- *prometheus.Desc) {
	for _, f := range s.hub.metrics.figures() {
		into <- f.Desc
	}
}

// Collect implements prometheus.Collector.
func (s *Server) Collect(into chan<- prometheus.Metric) {
	status := s.status()
	yes := map[bool]uint64{true: 1}
	s.hub.mu.Lock()
	streams := len(s.hub.conns)
	s.hub.mu.Unlock()
	m := s.hub.metrics
	for i, value := range []uint64{
		yes[status.GetState() == "leader"], yes[status.GetServing()], status.GetTerm(),
		status.GetLastIndex(), status.GetCommitIndex(), status.GetAppliedIndex(),
		uint64(streams), m.granted.Load(), m.led.Load(),
	} {
		f := m.figures()[i]
		into <- prometheus.MustNewConstMetric(f.Desc, f.kind, float64(value))
	}
}
