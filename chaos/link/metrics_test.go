package link_test

import (
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/internal/metrics/metricstest"
)

func TestMetrics(t *testing.T) {
	h := newHost(t, "a")
	c := dial(t, open(t, h, link.Spec{Name: "b-1/http", ToHost: "b", ToNode: "b-1", Upstream: serve(t, echo), Up: link.Latency{Delay: time.Millisecond}}))
	say(t, c, "hello")
	hear(t, c, "hello")
	const of = `{link="b-1/http",to_host="b",to_node="b-1"`
	metricstest.Has(t, metricstest.Page(t, h),
		`locklab_link_bytes_total{direction="up",link="b-1/http",to_host="b",to_node="b-1"} 5`,
		`locklab_link_bytes_total{direction="down",link="b-1/http",to_host="b",to_node="b-1"} 5`,
		`locklab_link_delay_seconds{direction="up",link="b-1/http",to_host="b",to_node="b-1"} 0.001`,
		`locklab_link_connections`+of+`} 1`,
		`locklab_link_connections_total`+of+`} 1`,
	)
	if have := h.Traffic(); len(have) != 1 || have["b-1"] != [2]int64{5, 5} {
		t.Errorf("traffic %+v", have)
	}
	apply(t, h, link.Impairment{ID: "slow", Direction: link.Up, Effect: &link.Latency{Delay: time.Second}})
	apply(t, h, link.Impairment{ID: "cut", Direction: link.Both, Effect: new(link.Hold)})
	say(t, c, "again")
	silent(t, c)
	metricstest.Has(t, metricstest.Page(t, h),
		`locklab_link_bytes_total{direction="up",link="b-1/http",to_host="b",to_node="b-1"} 5`,
		`locklab_link_delay_seconds{direction="up",link="b-1/http",to_host="b",to_node="b-1"} 1.001`,
		`locklab_link_faults{kind="hold",link="b-1/http",to_host="b",to_node="b-1"} 1`,
		`locklab_link_faults{kind="latency",link="b-1/http",to_host="b",to_node="b-1"} 1`,
	)
}
