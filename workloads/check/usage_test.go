package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// TestUsageIsOfTheMeasuredPart: what lies outside of it, or half in it, counts by its part;
// links of several hosts add up; a node that is dead has no share.
func TestUsageIsOfTheMeasuredPart(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	usage := func(host string, from, at int64, list ...history.Usage) history.Event {
		return history.Event{Kind: history.KindUsage, Host: host, FromNS: from * ms, AtNS: at * ms, Usage: list}
	}
	events := []history.Event{
		{Kind: history.KindRun, AtNS: 1, Run: &history.Run{Schema: history.Schema, Workload: history.Mutex, DurationNS: 3000 * ms}},
		{Kind: history.KindPhase, AtNS: 1000 * ms, State: "measure"},
		{Kind: history.KindPhase, AtNS: 4000 * ms, State: "drain"},
		usage("ha", 500, 1500, history.Usage{Node: "m", CPUNS: n(400 * ms), MemoryBytes: n(9000), InBytes: n(100), OutBytes: n(10)}),
		usage("ha", 1500, 2500, history.Usage{Node: "m", CPUNS: n(100 * ms), MemoryBytes: n(7000), InBytes: n(600), OutBytes: n(0)}),
		usage("hb", 1000, 2000, history.Usage{Node: "m", InBytes: n(50), OutBytes: n(5)}),
		usage("hb", 3900, 4900, history.Usage{Node: "late", InBytes: n(0), OutBytes: n(0)}),
		usage("hb", 4000, 5000, history.Usage{Node: "after", CPUNS: n(5)}),
		{Kind: history.KindPhase, AtNS: 5000 * ms, State: "end"},
	}
	options := check.Options{Workloads: []check.Workload{check.Mutex()}, Ops: true}
	f := checktest.Events(events, options)
	want := []check.NodeUsage{
		{Node: "late", LinkedNS: 3000 * ms, Over: []check.UsageBin{{}, {}, {}}},
		{
			Node: "m", CPUNS: 300 * ms, RanNS: 1500 * ms, CPUMax: 0.2, MemoryMaxBytes: 9000, InBytes: 50 + 600 + 50, OutBytes: 5 + 5, LinkedNS: 3000 * ms,
			Over: []check.UsageBin{
				{CPUNS: 250 * ms, RanNS: 1000 * ms, MemoryBytes: 9000, InBytes: 50 + 300 + 50, OutBytes: 5 + 5},
				{CPUNS: 50 * ms, RanNS: 500 * ms, MemoryBytes: 7000, InBytes: 300},
			},
		},
	}
	if diff := cmp.Diff(want, f.Nodes); diff != "" {
		t.Error(diff)
	}
	if cpus, known := f.Nodes[1].CPUs(); !known || cpus != 0.2 {
		t.Errorf("used %v CPUs (%v), want 0.2", cpus, known)
	}
	if _, known := f.Nodes[0].CPUs(); known {
		t.Error("nobody looked at the node late")
	}
	both := check.Merge(f, f)
	want[1].Over, want[1].CPUNS, want[1].RanNS, want[1].InBytes, want[1].OutBytes, want[1].LinkedNS = nil, 600*ms, 3000*ms, 1400, 20, 6000*ms
	want[0].Over, want[0].LinkedNS = nil, 6000*ms
	if diff := cmp.Diff(want, both.Nodes); diff != "" {
		t.Error(diff)
	}
}

// TestProgramsThatUseNoLink: broken links show nothing of a user's lock that sends nothing
// through them. What it does wrong is seen all the same.
func TestProgramsThatUseNoLink(t *testing.T) {
	calm, partition := phases(1000, 10_000, 10_100), fault("f1", "partition", 3000, 8005, cutAC)
	killed := func(node string) []history.Event {
		return fault("f1", "kill", 3000, 8005, func(e *history.Event) { e.Nodes = []string{node} })
	}
	said := func(bytes int64) []history.Event {
		return []history.Event{{Kind: history.KindUsage, Host: "ha", FromNS: 1000 * ms, AtNS: 10_000 * ms, Usage: []history.Usage{
			{Node: "s1", InBytes: &bytes, OutBytes: &bytes}, {Node: "m1", InBytes: new(int64(9)), OutBytes: new(int64(9))},
		}}}
	}
	program := func(servers ...string) []history.Event {
		run := world()
		run.Run.Program = &history.Program{Servers: servers}
		return []history.Event{run}
	}
	for name, c := range map[string]struct {
		lists  [][]history.Event
		status check.Status
		why    string
	}{
		"a file":                                {[][]history.Event{program(), partition}, check.Inconclusive, "asks for no servers"},
		"a file, nothing broken":                {[][]history.Event{program()}, check.Expected, ""},
		"a file, and a kill":                    {[][]history.Event{program(), killed("m3")}, check.Expected, ""},
		"a file that is not safe":               {[][]history.Event{program(), partition, raced()}, check.Violated, "raced"},
		"a server that is not used":             {[][]history.Event{program("s1"), partition, said(0)}, check.Inconclusive, "nothing of the lock's program passed the links"},
		"a server that is not used, and killed": {[][]history.Event{program("s1"), killed("s1"), said(0)}, check.Inconclusive, "nothing of the lock's program passed the links"},
		"a server that is used, and killed":     {[][]history.Event{program("s1"), killed("s1"), said(100)}, check.Expected, ""},
		"a master that is killed":               {[][]history.Event{program("s1"), killed("m3"), said(0)}, check.Expected, ""},
		"a server":                              {[][]history.Event{program("s1"), partition, said(100)}, check.Expected, ""},
		"nobody counted":                        {[][]history.Event{program("s1"), partition}, check.Expected, ""},
		"a lock of the lab":                     {[][]history.Event{partition}, check.Expected, ""},
	} {
		v, _ := judged(t, history.Expect{Safety: check.Safe}, append([][]history.Event{calm, work()}, c.lists...)...)
		if v.Status != c.status || !strings.Contains(strings.ToLower(v.Why), c.why) {
			t.Errorf("%s: %s: %s", name, v.Status, v.Why)
		}
	}
}
