package agent

import (
	"testing"
	"time"

	"locklab/workloads/history"
)

// TestAgentRecordsItsMachine as long as it runs nodes.
func TestAgentRecordsItsMachine(t *testing.T) {
	_, c := newAgent(t, func(cfg *Config) { cfg.Measure = 5 * time.Millisecond })
	started := make(chan struct{})
	samples := make(chan history.Event)
	f := c.Follow(t.Context(), 0, func(_ uint64, e history.Event) error {
		if e.Kind == history.KindNode && e.State == "started" {
			close(started)
		}
		if e.Kind != history.KindMachine {
			return nil
		}
		select {
		case samples <- e:
		case <-t.Context().Done():
		}
		return nil
	})
	must(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	last := int64(0)
	for range 3 {
		e := <-samples
		select {
		case <-started:
		default:
			t.Error("a machine without nodes was recorded")
		}
		if e.Host != "host-a-1" || e.Machine == nil || e.AtNS <= e.FromNS || e.FromNS < last {
			t.Errorf("sample %+v of %+v after %d", e, e.Machine, last)
		}
		last = e.AtNS
	}
	go func() { // let the follower go on to its end
		for range samples {
		}
	}()
	must(t, c.Stop(t.Context(), "own-1"))
	f.Close()
	close(samples)
}
