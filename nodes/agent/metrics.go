package agent

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	kit "locklab/internal/metrics"
	"locklab/nodes/process"
)

// scrapeTimeout is less than Prometheus gives the agent: a node that hangs does not cost the others.
const scrapeTimeout = 500 * time.Millisecond

// metrics is one page for Prometheus: the agent's, the Collectors, and those of its nodes. Nodes come and go
// faster than Prometheus looks for targets, so the agent is the one target of its host and asks them itself.
type metrics struct {
	agent *Agent
	own   *prometheus.Registry

	mu           sync.Mutex // held while ready is set and read
	ready        *prometheus.GaugeVec
	starts, ends *prometheus.CounterVec
}

func newMetrics(a *Agent) *metrics {
	m := &metrics{
		agent: a, own: kit.NewRegistry(),
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "locklab_node_ready", Help: "Whether the node is ready: 0 while it starts, stands still or is down.",
		}, []string{"node", "role"}),
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_node_starts_total", Help: "Processes of nodes that the agent has started.",
		}, []string{"role"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_node_ends_total",
			Help: "Processes of nodes that have ended: stopped and killed by the agent, or exited.",
		}, []string{"role", "how"}),
	}
	m.own.MustRegister(append([]prometheus.Collector{m.ready, m.starts, m.ends}, a.cfg.Collectors...)...)
	return m
}

// Gather implements prometheus.Gatherer. A node that does not answer is left out, and its
// locklab_node_ready says why. The process's own metrics have the host's labels and no node.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready.Reset()
	all := prometheus.Gatherers{m.own}
	var wg sync.WaitGroup
	for _, n := range m.agent.sorted() {
		gauge := m.ready.WithLabelValues(n.name, n.role.Name)
		if n.status().State != "ready" {
			continue
		}
		gauge.Set(1)
		var found []*dto.MetricFamily
		wg.Go(func() {
			found = n.current().metrics(m.agent.ctx)
			label(found, "node", n.name, "role", n.role.Name)
		})
		all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return found, nil }))
	}
	wg.Wait()
	families, err := all.Gather()
	label(families, "host", m.agent.cfg.Host, "zone", m.agent.cfg.Zone)
	return families, err
}

// metrics asks the process for its own, none if it does not tell in time.
func (c *child) metrics(ctx context.Context) []*dto.MetricFamily {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	answer, err := c.orders.ask(ctx, process.Order{Metrics: true})
	if err != nil {
		return nil
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(answer.Metrics))
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Values(found))
}

// label adds labels, pairs of name and value.
func label(families []*dto.MetricFamily, labels ...string) {
	for _, f := range families {
		for _, m := range f.Metric {
			for i := 0; i < len(labels); i += 2 {
				m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i], Value: &labels[i+1]})
			}
		}
	}
}
