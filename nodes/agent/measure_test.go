package agent

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/nodes/hostload"
	"locklab/workloads/history"
)

func TestUsageSince(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	run := func(pid int, cpu, memory int64) processUse {
		return processUse{pid, hostload.Usage{CPUNS: cpu, MemoryBytes: memory}}
	}
	last := used{
		nodes:   map[string]processUse{"m-1": run(7, 100, 9), "gone": run(8, 5, 5)},
		traffic: map[string][2]int64{"w-1": {10, 20}, "w-2": {50, 50}},
	}
	for name, c := range map[string]struct {
		now  used
		want []history.Usage
	}{
		"the only one dials": {
			used{only: "m-1", nodes: map[string]processUse{"m-1": run(7, 130, 8)}, traffic: map[string][2]int64{"w-1": {13, 25}, "w-2": {2, 1}}}, // w-2's links are new
			[]history.Usage{
				{Node: "m-1", CPUNS: n(30), MemoryBytes: n(8), InBytes: n(5 + 1), OutBytes: n(3 + 2)},
				{Node: "w-1", InBytes: n(3), OutBytes: n(5)},
				{Node: "w-2", InBytes: n(2), OutBytes: n(1)},
			},
		},
		"who of two dials is not known": {
			used{nodes: map[string]processUse{"m-1": run(9, 40, 8), "m-2": run(10, 0, 4)}, traffic: map[string][2]int64{"w-1": {13, 25}}},
			[]history.Usage{
				{Node: "m-1", CPUNS: n(40), MemoryBytes: n(8)}, {Node: "m-2", CPUNS: n(0), MemoryBytes: n(4)}, {Node: "w-1", InBytes: n(3), OutBytes: n(5)},
			},
		},
		"who does not run now may have dialed": {
			used{nodes: map[string]processUse{"m-1": run(7, 130, 8)}, traffic: map[string][2]int64{"w-1": {13, 25}}},
			[]history.Usage{{Node: "m-1", CPUNS: n(30), MemoryBytes: n(8)}, {Node: "w-1", InBytes: n(3), OutBytes: n(5)}},
		},
		"nothing runs": {used{}, nil},
	} {
		if diff := cmp.Diff(c.want, c.now.since(last)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUsageCountsOnce: time that cannot be seen for a while is not counted again.
func TestUsageCountsOnce(t *testing.T) {
	look := func(pid int, cpu int64) used {
		return used{nodes: map[string]processUse{"m-1": {pid, hostload.Usage{CPUNS: cpu}}}}
	}
	last, total := look(7, 0), int64(0)
	for _, now := range []used{
		look(7, 150), look(7, 100), look(7, 170), // a child ended, and was waited for
		look(8, 30), // another process
	} {
		for _, u := range now.since(last) {
			total += *u.CPUNS
		}
		last = now
	}
	if total != 170+30 {
		t.Errorf("counted %d, want 200", total)
	}
}

// TestAgentRecords its machine, without a gap as long as it has nodes, be they dead, and what its nodes use, and
// those that its links lead to.
func TestAgentRecords(t *testing.T) {
	var sent atomic.Int64
	_, c := newAgent(t, func(cfg *Config) {
		cfg.Measure, cfg.Usage = 5*time.Millisecond, 5*time.Millisecond
		cfg.Traffic = func() map[string][2]int64 { return map[string][2]int64{"far-1": {sent.Add(100), 1}} }
	})
	events := collect(t, c)
	count := func(ok func(history.Event) bool) (n int) {
		events.mu.Lock()
		defer events.mu.Unlock()
		for _, e := range events.events {
			if ok(e) {
				n++
			}
		}
		return n
	}
	samples := func() int { return count(func(e history.Event) bool { return e.Kind == history.KindMachine }) }
	locktest.Eventually(t, "traffic without nodes", func() bool {
		return count(func(e history.Event) bool { return e.Kind == history.KindUsage && *e.Usage[0].InBytes == 100 }) > 1
	})
	if n := samples(); n > 0 {
		t.Errorf("%d samples of a machine without nodes", n)
	}
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	locktest.Eventually(t, "what the node uses", func() bool {
		return count(func(e history.Event) bool {
			return len(e.Usage) == 2 && e.Usage[0].Node == "far-1" && e.Usage[0].CPUNS == nil && e.Usage[1].Node == "own-1" &&
				*e.Usage[1].OutBytes == 100 && (runtime.GOOS != "linux" || e.Usage[1].CPUNS != nil && *e.Usage[1].MemoryBytes > 0)
		}) > 0
	})
	must.Do(t, c.Kill(t.Context(), "own-1"))
	before := samples()
	locktest.Eventually(t, "samples of a machine whose nodes are dead", func() bool { return samples() > before+3 })
	last := int64(0)
	for _, e := range events.drained() {
		if e.Kind != history.KindMachine {
			continue
		}
		if e.Host != "host-a-1" || e.Machine == nil || e.AtNS <= e.FromNS || e.FromNS != last && last != 0 {
			t.Errorf("sample %+v after %d", e, last)
		}
		last = e.AtNS
	}
}
