package link

import (
	"github.com/prometheus/client_golang/prometheus"

	"locklab/chaos/toxic"
)

var _ prometheus.Collector = (*Host)(nil)

// figures are what a host says of its links.
type figures struct{ bytes, conns, begun, delay, faults *prometheus.Desc }

func newFigures() figures {
	of := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"link", "to_host", "to_node"}, more...), nil)
	}
	return figures{
		bytes:  of("locklab_link_bytes_total", "Bytes that the link has handed on, up to the node and down from it.", "direction"),
		conns:  of("locklab_link_connections", "Connections of the link."),
		begun:  of("locklab_link_connections_total", "Connections that programs have begun."),
		delay:  of("locklab_link_delay_seconds", "One-way delay in force, without jitter: the topology's and what faults add at least.", "direction"),
		faults: of("locklab_link_faults", "Faults in force, by kind.", "kind"),
	}
}

func (f figures) all() []*prometheus.Desc {
	return []*prometheus.Desc{f.bytes, f.conns, f.begun, f.delay, f.faults}
}

// Describe implements prometheus.Collector.
func (h *Host) Describe(into chan<- *prometheus.Desc) {
	for _, d := range h.figures.all() {
		into <- d
	}
}

// Collect implements prometheus.Collector: the data links that are open, without the probes'.
func (h *Host) Collect(into chan<- prometheus.Metric) {
	h.mu.Lock()
	var links []*link
	for _, l := range h.links {
		if !l.spec.isProbe() {
			links = append(links, l)
		}
	}
	h.mu.Unlock()
	for _, l := range links {
		l.collect(h.figures, into)
	}
}

func (l *link) collect(f figures, into chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
		into <- prometheus.MustNewConstMetric(d, kind, value, append([]string{l.spec.Name, l.spec.ToHost, l.spec.ToNode}, more...)...)
	}
	put(f.bytes, prometheus.CounterValue, float64(l.carried.up.Load()), string(Up))
	put(f.bytes, prometheus.CounterValue, float64(l.carried.down.Load()), string(Down))
	for _, way := range ways() {
		put(f.delay, prometheus.GaugeValue, l.delay(way, 0).Seconds(), string(way))
	}
	faults := map[string]int{}
	for _, kind := range toxic.Kinds() {
		faults[kind] = 0
	}
	l.mu.Lock()
	conns, begun := len(l.conns), l.count
	for _, i := range l.active {
		faults[i.Effect.Kind()]++
	}
	l.mu.Unlock()
	put(f.conns, prometheus.GaugeValue, float64(conns))
	put(f.begun, prometheus.CounterValue, float64(begun))
	for kind, n := range faults {
		put(f.faults, prometheus.GaugeValue, float64(n), kind)
	}
}
