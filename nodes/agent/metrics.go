package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"locklab/internal/httpapi"
	kit "locklab/internal/metrics"
	"locklab/internal/signals"
)

// scrapeTimeout is less than Prometheus gives the agent: a node that hangs does not cost the others.
const scrapeTimeout = 500 * time.Millisecond

// metrics is one page for Prometheus: the agent's, the Collectors, and those of its nodes. Nodes come and go
// faster than Prometheus looks for targets, so the agent is the one target of its host and asks them itself.
type metrics struct {
	agent *Agent
	token string // that the nodes want to see
	own   *prometheus.Registry

	starts, ends *prometheus.CounterVec
	node         *prometheus.Desc
}

func newMetrics(a *Agent) *metrics {
	m := &metrics{
		agent: a, token: httpapi.NewToken(), own: kit.NewRegistry(),
		starts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_node_starts_total", Help: "Processes of nodes that the agent has started.",
		}, []string{"role"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_node_ends_total", Help: "Processes of nodes that have ended: stopped and killed by the agent, or exited.",
		}, []string{"role", "how"}),
		node: prometheus.NewDesc("locklab_node_ready", "Whether the node is ready: 0 while it starts, stands still or is down.", []string{"node", "role"}, nil),
	}
	m.own.MustRegister(append([]prometheus.Collector{m, m.starts, m.ends}, a.cfg.Collectors...)...)
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(into chan<- *prometheus.Desc) { into <- m.node }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(into chan<- prometheus.Metric) {
	for _, n := range m.agent.Nodes() {
		ready := 0.0
		if n.State == "ready" {
			ready = 1
		}
		into <- prometheus.MustNewConstMetric(m.node, prometheus.GaugeValue, ready, n.Name, n.Role)
	}
}

// Gather implements prometheus.Gatherer. A node that does not answer is left out, and its
// locklab_node_ready says why. The process's own metrics have the host's labels and no node.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	all := prometheus.Gatherers{m.own}
	var wg sync.WaitGroup
	for _, n := range m.agent.sorted() {
		if c := n.running(); c != nil && c.metrics != nil && signals.Closed(c.ready) && !c.standsStill() {
			var found []*dto.MetricFamily
			wg.Go(func() {
				found = c.ask(m.agent.ctx)
				label(found, "node", n.name, "role", n.role.Name)
			})
			all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return found, nil }))
		}
	}
	wg.Wait()
	families, err := all.Gather()
	label(families, "host", m.agent.cfg.Host, "zone", m.agent.cfg.Zone)
	return families, err
}

// ask gets a node's metrics, none if it does not tell in time.
func (c *child) ask(ctx context.Context) []*dto.MetricFamily {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	var text []byte
	if c.metrics.Call(ctx, http.MethodGet, kit.Path, nil, &text) != nil {
		return nil
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
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

// openMetrics opens a port of the loopback where a node is to serve its metrics, and makes its client.
func (a *Agent) openMetrics() (*os.File, *httpapi.Client, error) {
	l, err := new(net.ListenConfig).Listen(a.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen for a node's metrics: %w", err)
	}
	file, err := l.(*net.TCPListener).File()
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, nil, fmt.Errorf("listen for a node's metrics: %w", err)
	}
	return file, httpapi.NewClient("http://"+l.Addr().String(), httpapi.ClientConfig{Token: a.metrics.token}), nil
}
