package worker

import (
	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
)

// metrics count what a worker was asked for. What it answered is ok or the kind of refusal.
type metrics struct {
	orders, seats *prometheus.CounterVec
	rooms, made   *prometheus.Desc
}

func newMetrics() metrics {
	result := []string{"result"}
	return metrics{
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_room_orders_total", Help: "Orders of rooms, by result: ok, or why they were refused.",
		}, result),
		seats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_room_seat_requests_total", Help: "Requests for seats, by result: ok, or why they were refused.",
		}, result),
		rooms: prometheus.NewDesc("locklab_rooms", "Rooms that are not closed, by state.", []string{"state"}, nil),
		made:  prometheus.NewDesc("locklab_rooms_created_total", "Rooms that were made.", nil, nil),
	}
}

// resultOf names how a request ended.
func resultOf(refusal *httpapi.Error) string {
	if refusal == nil {
		return "ok"
	}
	return refusal.Kind
}

var _ prometheus.Collector = (*Worker)(nil)

// Describe implements prometheus.Collector.
func (w *Worker) Describe(into chan<- *prometheus.Desc) {
	w.metrics.orders.Describe(into)
	w.metrics.seats.Describe(into)
	into <- w.metrics.rooms
	into <- w.metrics.made
}

// Collect implements prometheus.Collector.
func (w *Worker) Collect(into chan<- prometheus.Metric) {
	w.metrics.orders.Collect(into)
	w.metrics.seats.Collect(into)
	states, made := w.rooms.count()
	for _, s := range []State{StateStarting, StateOpen, StateFull} {
		into <- prometheus.MustNewConstMetric(w.metrics.rooms, prometheus.GaugeValue, float64(states[s]), string(s))
	}
	into <- prometheus.MustNewConstMetric(w.metrics.made, prometheus.CounterValue, float64(made))
}

// count says how many rooms there are in each state, and how many were ever made.
func (h *rooms) count() (states map[State]int, made uint64) {
	states = map[State]int{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, group := range h.groups {
		for _, r := range group {
			states[r.state]++
		}
	}
	return states, h.made
}
