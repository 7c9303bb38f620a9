package agent

import (
	"fmt"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/history"
)

// BenchmarkEvents takes events from a node through its agent to the follower.
func BenchmarkEvents(b *testing.B) {
	cfg, err := testConfig(b.TempDir())
	must.Do(b, err)
	a, err := New(cfg)
	must.Do(b, err)
	defer func() { _ = a.Close() }()
	c := NewClient(a.URL(), a.cfg.Token)
	defer c.Close()
	const many = 200_000
	for b.Loop() {
		must.Do(b, a.Remove("own-1"))
		seen := make(chan struct{})
		f := c.Follow(b.Context(), a.Health().NextEvent, func(_ uint64, e history.Event) error {
			if e.Token == many {
				close(seen)
			}
			return nil
		})
		spec := NodeSpec{Name: "own-1", Role: "own", Settings: fmt.Appendf(nil, `{"events":%d}`, many)}
		must.Do(b, c.Start(b.Context(), spec))
		<-seen
		f.Close()
	}
	b.ReportMetric(many*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
