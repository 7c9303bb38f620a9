package lab

import (
	"slices"
	"strings"
	"testing"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/nodes/topology"
	"locklab/workloads/result"
)

func suiteFor(t *testing.T, locks string, scenarios ...string) Config {
	t.Helper()
	topo, err := topology.Load("seoul-2az")
	if err != nil {
		t.Fatal(err)
	}
	c := *configFor(t, topo, locks)
	c.Suite, c.Repeat = true, 1
	for _, name := range scenarios {
		s, err := scenario.Load(name, "a")
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	return c
}

// TestWhatLeavesServers: only what neither touches them, nor cuts what they say to each other,
// and only of roles that can say that they serve.
func TestWhatLeavesServers(t *testing.T) {
	for lock, want := range map[string]string{
		"etcd":                "baseline zone-latency holder-kill client-clock",
		"zookeeper:watch=all": "baseline zone-latency holder-kill client-clock",
		"postgres":            "baseline zone-latency holder-kill client-clock zone-partition",
		"redlock":             "",
		"redis:replica":       "",
		"raft":                "",
		"none":                "",
	} {
		c := suiteFor(t, lock, "baseline", "zone-latency", "zone-partition", "zone-failure", "leader-kill", "leader-pause", "restart-one", "slow-disk", "holder-kill", "client-clock")
		var all []string
		for _, s := range c.Scenarios {
			if needs, leaves := c.servers(c.Locks[0], s); leaves != "" {
				all = append(all, s.Name)
			} else if needs != "" && lock == "redlock" {
				t.Errorf("%s under %s can be served by those of another run", lock, s.Name)
			}
		}
		have, wants := slices.Sorted(slices.Values(all)), slices.Sorted(slices.Values(strings.Fields(want)))
		if !slices.Equal(have, wants) {
			t.Errorf("%s: %v leave the servers to the next run, want %v", lock, have, wants)
		}
	}
}

// TestOrderOfASuite: who can share servers comes one after the other, and the plan counts on
// that; a comparison keeps what is compared together.
func TestOrderOfASuite(t *testing.T) {
	c := suiteFor(t, "none,etcd,postgres,local,postgres:advisory", "baseline", "holder-kill")
	order := func() (all []string) {
		for lock, s := range c.eachFit {
			all = append(all, lock.String()+" "+s.Name)
		}
		return all
	}
	want := []string{
		"none baseline", "local baseline", "none holder-kill", "local holder-kill", "etcd baseline", "etcd holder-kill",
		"postgres baseline", "postgres:advisory baseline", "postgres holder-kill", "postgres:advisory holder-kill",
	}
	if have := order(); !slices.Equal(have, want) {
		t.Errorf("%q, want %q", have, want)
	}
	runs, about := Remaining([]Config{c}, nil)
	for lock, s := range c.eachFit {
		about -= c.aboutRun(lock, s)
	}
	etcd, postgres := c.Locks[1].Starts(), c.Locks[2].Starts()
	if runs != 10 || -about != etcd+3*postgres {
		t.Errorf("%d runs, %v are saved; want 10, and %v", runs, -about, etcd+3*postgres)
	}
	c.Suite = false
	if have := order(); have[1] != "etcd baseline" || have[5] != "none holder-kill" {
		t.Errorf("a comparison: %q", have)
	}
	file := result.File{Rows: []result.Row{{Lock: "postgres", Scenario: "baseline", Workload: c.Workload.Name, Repeat: 1}}}
	if runs, _ := Remaining([]Config{c}, &file); runs != 9 {
		t.Errorf("%d runs are left, want 9", runs)
	}
}

// TestWhoSuits: servers serve the next run if it would start them as they are.
func TestWhoSuits(t *testing.T) {
	topo, err := topology.Load("seoul-2az")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(list string) plan { return newPlan(configFor(t, topo, list), bound(t, list)[0], "test", 1) }
	before := plan("etcd")
	for i, w := range before.wires {
		addr := "127.0.0.1:" + string(rune('1'+i%9)) + "000"
		before.set(w, catalog.Way{Link: addr, To: addr})
	}
	c := &cluster{topo: before.topo, plan: before}
	if !c.suits(plan("etcd")) {
		t.Error("etcd does not suit itself")
	}
	if c.suits(plan("zookeeper")) || c.suits(plan("postgres")) || c.suits(plan("none")) {
		t.Error("etcd suits a lock with other servers, or with none")
	}
	clocks := plan("etcd")
	clocks.clocks = true
	if c.suits(clocks) {
		t.Error("it suits a run that sets clocks")
	}
	if name := string(mustSettings(t, plan("etcd"))); strings.Contains(name, "prefix") {
		t.Error("the first run has a prefix:", name)
	}
	second := plan("etcd")
	second.runs = 2
	if name := string(mustSettings(t, second)); !strings.Contains(name, `"prefix":"run2."`) {
		t.Error("the second run has none:", name)
	}
}

func mustSettings(t *testing.T, p plan) []byte {
	t.Helper()
	text, err := p.settings(p.topo.NodesOf("master")[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}
