package raftnode

import "github.com/prometheus/client_golang/prometheus"

// Snapshots is how many snapshots the server keeps.
func (s *Server) Snapshots() (int, error) {
	kept, err := s.stores.snapshots.List()
	return len(kept), err
}

func (s *Server) Metrics() prometheus.Collector { return s.metrics() }
