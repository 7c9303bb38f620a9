package raftnode

import "github.com/prometheus/client_golang/prometheus"

// figure is one of the metrics that a server says of itself.
type figure struct {
	kind       prometheus.ValueType
	name, help string
	value      uint64
}

func (s *Server) figures() []figure {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	status := s.status()
	yes := map[bool]uint64{true: 1}
	s.hub.mu.Lock()
	streams := len(s.hub.conns)
	s.hub.mu.Unlock()
	return []figure{
		{gauge, "locklab_raft_leader", "Whether this server leads the service.", yes[status.State == "leader"]},
		{gauge, "locklab_raft_serving", "Whether this server serves clients: it leads, and has applied all of the terms before.", yes[status.Serving]},
		{gauge, "locklab_raft_term", "The term that this server is in.", status.Term},
		{gauge, "locklab_raft_last_index", "The newest entry of this server's log.", status.LastIndex},
		{gauge, "locklab_raft_commit_index", "The newest entry that this server knows to be committed.", status.CommitIndex},
		{gauge, "locklab_raft_applied_index", "The newest entry that this server has applied.", status.AppliedIndex},
		{gauge, "locklab_raft_streams", "Streams of clients that this server serves.", uint64(streams)},
		{counter, "locklab_raft_grants_total", "Leases that were granted while this server served.", s.hub.granted.Load()},
		{counter, "locklab_raft_leaderships_total", "How often this server began to lead.", s.hub.led.Load()},
	}
}

var _ prometheus.Collector = (*Server)(nil)

// Describe implements prometheus.Collector.
func (s *Server) Describe(into chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, into) }

// Collect implements prometheus.Collector.
func (s *Server) Collect(into chan<- prometheus.Metric) {
	for _, f := range s.figures() {
		into <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.name, f.help, nil, nil), f.kind, float64(f.value))
	}
}
