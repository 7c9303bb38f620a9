package agent

import (
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/workloads/history"
)

// TestAgentRecordsItsMachine as long as it has nodes, without a gap when they are killed.
func TestAgentRecordsItsMachine(t *testing.T) {
	_, c := newAgent(t, func(cfg *Config) { cfg.Measure = 5 * time.Millisecond })
	started := make(chan struct{})
	samples := make(chan history.Event)
	f := c.Follow(t.Context(), func(e history.Event) error {
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
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	last, dead := int64(0), false
	next := func(e history.Event) {
		t.Helper()
		select {
		case <-started:
		default:
			t.Error("a machine without nodes was recorded")
		}
		if e.Host != "host-a-1" || e.Machine == nil || e.AtNS <= e.FromNS || e.FromNS != last && last != 0 {
			t.Errorf("sample %+v of %+v after %d; its nodes are dead: %v", e, e.Machine, last, dead)
		}
		last = e.AtNS
	}
	for range 3 {
		next(<-samples)
	}
	must.Do(t, c.Kill(t.Context(), "own-1"))
	dead = true
	for range 3 {
		locktest.Eventually(t, "a sample of a machine whose nodes are dead", func() bool {
			select {
			case e := <-samples:
				next(e)
				return true
			default:
				return false
			}
		})
	}
	go func() { // let the follower go on to its end
		for range samples {
		}
	}()
	must.Do(t, c.Stop(t.Context(), "own-1"))
	f.Close()
	close(samples)
}
