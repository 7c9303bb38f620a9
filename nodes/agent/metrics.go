package agent

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	kit "locklab/internal/metrics"
	"locklab/workloads/history"
)

// metrics serves Prometheus the metrics of the agent, of the Collectors and of the nodes. Nodes come and go
// faster than Prometheus discovers targets, so the agent is the only target of its host and asks them itself.
type metrics struct {
	agent *Agent
	own   *prometheus.Registry

	mu    sync.Mutex // held while ready is set and read
	ready *prometheus.GaugeVec
}

func newMetrics(a *Agent) *metrics {
	m := &metrics{
		agent: a, own: kit.NewRegistry(),
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "locklab_node_ready", Help: "Whether the node is ready: 0 while it starts, stands still or is down.",
		}, []string{"node", "role"}),
	}
	m.own.MustRegister(append([]prometheus.Collector{m.ready}, a.cfg.Collectors...)...)
	return m
}

// Gather implements prometheus.Gatherer. It leaves out a node that does not answer, whose
// locklab_node_ready says why. The agent's own metrics have the host's labels and no node.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready.Reset()
	all := prometheus.Gatherers{m.own}
	var wg sync.WaitGroup
	for _, n := range m.agent.sorted() {
		gauge := m.ready.WithLabelValues(n.name, n.role.Name)
		if state, _ := n.state(); state != history.NodeReady {
			continue
		}
		gauge.Set(1)
		var found []*dto.MetricFamily
		wg.Go(func() {
			found = n.current().gather(m.agent.ctx)
			label(found, "node", n.name, "role", n.role.Name)
		})
		all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return found, nil }))
	}
	wg.Wait()
	families, err := all.Gather()
	label(families, "host", m.agent.cfg.Host, "zone", m.agent.cfg.Zone)
	return families, err
}

// label adds pairs of label names and values.
func label(families []*dto.MetricFamily, labels ...string) {
	for _, f := range families {
		for _, m := range f.Metric {
			for i := 0; i < len(labels); i += 2 {
				m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i], Value: &labels[i+1]})
			}
		}
	}
}
