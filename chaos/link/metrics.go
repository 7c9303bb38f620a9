package link

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*Host)(nil)

// Describe implements prometheus.Collector. It describes nothing, because the set of links changes.
func (h *Host) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector, for the open data links.
func (h *Host) Collect(into chan<- prometheus.Metric) {
	h.mu.Lock()
	links := h.data()
	h.mu.Unlock()
	for _, l := range links {
		l.collect(into)
	}
}

func (l *link) collect(into chan<- prometheus.Metric) {
	put := func(name, help string, kind prometheus.ValueType, value float64, more ...string) { // more: labels, then values
		labels := append([]string{"link", "to_host", "to_node"}, more[:len(more)/2]...)
		values := append([]string{l.spec.Name, l.spec.ToHost, l.spec.ToNode}, more[len(more)/2:]...)
		desc := prometheus.NewDesc("locklab_link_"+name, help, labels, nil)
		into <- prometheus.MustNewConstMetric(desc, kind, value, values...)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	for _, way := range ways() {
		put("bytes_total", "Bytes that the link has handed on, up to the node and down from it.",
			counter, float64(l.carried.of(way).Load()), "direction", string(way))
		put("delay_seconds", "One-way delay in force, without jitter: the topology's and what faults add at least.",
			gauge, l.delay(way).Seconds(), "direction", string(way))
	}
	faults := map[string]int{}
	l.mu.Lock()
	conns, begun := len(l.conns), l.count
	for _, i := range l.active {
		faults[kindOf(i.Effect)]++
	}
	l.mu.Unlock()
	put("connections", "Connections of the link.", gauge, float64(conns))
	put("connections_total", "Connections that programs have begun.", counter, float64(begun))
	for kind, n := range faults {
		put("faults", "Faults in force, by kind.", gauge, float64(n), "kind", kind)
	}
}

// counters count the bytes that a link has delivered, without a lock.
type counters struct{ up, down atomic.Int64 }

func (c *counters) of(way Direction) *atomic.Int64 {
	if way == Up {
		return &c.up
	}
	return &c.down
}

// Traffic returns the bytes that this host's links have delivered to each node, and back, since they were opened.
// Bytes lost in faults, and probes, do not count.
func (h *Host) Traffic() map[string][2]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	sums := map[string][2]int64{}
	for _, l := range h.data() {
		t := sums[l.spec.ToNode]
		sums[l.spec.ToNode] = [2]int64{t[0] + l.carried.up.Load(), t[1] + l.carried.down.Load()}
	}
	return sums
}
