package topology_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/nodes/topology"
)

func load(t *testing.T, name string) *topology.Topology {
	t.Helper()
	topo, err := topology.Load(name)
	must.Do(t, err)
	return topo
}

func TestBuiltins(t *testing.T) {
	counts := map[string]map[string]int{} // topology, then role:zone
	for _, name := range topology.Names() {
		topo := load(t, name)
		counts[topo.Name] = map[string]int{}
		for _, p := range topo.Nodes() {
			if slices.Contains([]string{"master", "worker", "redis", "raft"}, p.Role) { // of the headline comparison
				counts[topo.Name][p.Role+":"+p.Zone]++
			}
			forLibraries := p.Role == "mariadb" || p.Role == "nats" // they share the host of postgres
			if p.Name != p.Host && len(topo.Zones) > 1 && !forLibraries {
				t.Errorf("%s: node %s is on host %s: want names alike", topo.Name, p.Name, p.Host)
			}
		}
		if topo.Summary == "" {
			t.Errorf("%s has no summary", topo.Name)
		}
	}
	want := map[string]map[string]int{
		"aws-regions": {
			"master:seoul-a": 1, "master:seoul-c": 1, "master:tokyo": 1, "master:oregon": 1, "master:virginia": 1, "master:frankfurt": 1,
			"worker:seoul-a": 1, "worker:seoul-c": 1, "worker:tokyo": 1, "worker:oregon": 1, "worker:virginia": 1, "worker:frankfurt": 1,
			"redis:seoul-a": 1, "redis:tokyo": 1, "redis:oregon": 1, "redis:virginia": 1, "redis:frankfurt": 1,
			"raft:seoul-a": 1, "raft:tokyo": 1, "raft:oregon": 1, "raft:virginia": 1, "raft:frankfurt": 1,
		},
		"one-host":  {"master:a": 1, "worker:a": 1, "redis:a": 3, "raft:a": 3},
		"seoul-2az": {"master:a": 1, "master:c": 1, "worker:a": 3, "worker:c": 3, "redis:a": 3, "redis:c": 2, "raft:a": 2, "raft:c": 1},
		"seoul-3az": {
			"master:a": 1, "master:b": 1, "master:c": 1, "worker:a": 1, "worker:b": 1, "worker:c": 1,
			"redis:a": 2, "redis:b": 2, "redis:c": 1, "raft:a": 1, "raft:b": 1, "raft:c": 1,
		},
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
}

func TestQuestions(t *testing.T) {
	topo := load(t, "seoul-2az")
	if rank, ok := topo.Rank("master-c"); rank != 1 || !ok {
		t.Errorf("rank of master-c = %d, %t", rank, ok)
	}
	if _, ok := topo.Rank("worker-a-1"); ok {
		t.Error("a worker has a rank")
	}
	between := topo.Between("master-a", "master-c")
	if between != (topology.RTT{RTT: time.Millisecond, Jitter: 100 * time.Microsecond}) {
		t.Errorf("between zones = %+v", between)
	}
	if got := topo.Between("redis-a-1", "redis-a-2").RTT; got != 200*time.Microsecond {
		t.Errorf("round trip inside a zone = %s", got)
	}
	if got := topo.Between("raft-c", "raft-c"); got != (topology.RTT{}) {
		t.Errorf("a host is %v away from itself", got)
	}
	if p, ok := topo.Node("raft-c"); !ok || p.Zone != "c" || p.Host != "raft-c" {
		t.Errorf("node raft-c = %v, %t", p, ok)
	}
}

// TestLimitsFollowTheRoundTrips, once ten of them take more than a second.
func TestLimitsFollowTheRoundTrips(t *testing.T) {
	for name, want := range map[string][2]time.Duration{
		"seoul-2az":   {time.Millisecond, time.Second},
		"one-host":    {0, time.Second},
		"aws-regions": {264326 * time.Microsecond, 2643260 * time.Microsecond},
	} {
		topo := load(t, name)
		if trip, second := topo.RoundTrip(), topo.Second(); trip != want[0] || second != want[1] {
			t.Errorf("%s: the longest round trip is %v and a second %v, want %v and %v", name, trip, second, want[0], want[1])
		}
		if have, want := topo.Limit(2500*time.Millisecond), (want[1] * 5 / 2).Round(time.Millisecond); have != want {
			t.Errorf("%s: a limit of 2.5 s is %v, want %v", name, have, want)
		}
	}
}

func TestSubsetKeepsOnlyWhatTheRolesNeed(t *testing.T) {
	topo, err := topology.Parse("t.yaml", []byte(strings.Replace(valid,
		"nodes: [{name: worker-c, role: worker}]", "nodes: [{name: worker-c, role: worker}, {name: redis-c, role: redis}]", 1)))
	must.Do(t, err)
	sub := topo.Subset("worker")
	want := []topology.Placed{{Node: topology.Node{Name: "worker-c", Role: "worker"}, Host: "worker-c", Zone: "c"}}
	if diff := cmp.Diff(want, sub.Nodes()); diff != "" {
		t.Error(diff)
	}
	if got := len(topo.Nodes()); got != 3 {
		t.Errorf("the whole topology has %d nodes afterwards, want 3", got)
	}
	if diff := cmp.Diff(map[string]string{"worker-c": "c"}, sub.HostZones()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"worker-c": "worker-c"}, sub.NodeHosts()); diff != "" {
		t.Error(diff)
	}
}

const valid = `name: two
zones:
  - {name: ap-northeast-2a, short: a}
  - {name: ap-northeast-2c, short: c}
latency:
  inside: {rtt: 0.2ms}
  between: {rtt: 1ms, jitter: 0.1ms}
  pairs:
    - {zones: [c, a], rtt: 3ms, jitter: 1ms}
hosts:
  - name: master-a
    zone: a
    agent: http://127.0.0.1:7500
    nodes:
      - name: master-a
        role: master
  - {name: worker-c, zone: c, nodes: [{name: worker-c, role: worker}]}
`

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.yaml")
	testfile.Write(t, path, valid)
	topo := load(t, path)
	if got := topo.Between("worker-c", "master-a"); got.RTT != 3*time.Millisecond || got.Jitter != time.Millisecond {
		t.Errorf("the pair's latency = %v", got)
	}
	if h, _ := topo.Host("master-a"); h.Agent != "http://127.0.0.1:7500" {
		t.Errorf("agent = %q", h.Agent)
	}
}

func TestErrorsNameFileLineFieldAndWhatIsRight(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"unknown field":   {"    zone: a", "    zon: a", `two.yaml:12: hosts[0]: unknown field "zon": want name, zone, agent, nodes`},
		"nothing there":   {"role: master", "role:", `two.yaml:16: hosts[0].nodes[0].role: missing: want a role, such as worker`},
		"no name":         {"name: two\n", "summary: x\n", `two.yaml:1: name: missing`},
		"zone twice":      {"short: c}", "short: a}", `two.yaml:4: zones[1].short: zone "a" appears twice`},
		"host twice":      {"{name: worker-c, zone", "{name: master-a, zone", `two.yaml:17: hosts[1].name: host "master-a" appears twice`},
		"node twice":      {"[{name: worker-c", "[{name: master-a", `two.yaml:17: hosts[1].nodes[0].name: node "master-a" appears twice`},
		"unknown zone":    {"zone: c,", "zone: d,", `two.yaml:17: hosts[1].zone: "d" is not the short name of a zone: want one of a, c`},
		"unknown role":    {"role: worker", "role: wroker", `two.yaml:17: hosts[1].nodes[0].role: "wroker" is not a role: want one of master, worker`},
		"no master":       {"role: master", "role: worker", `two.yaml:10: hosts: no node has the role master`},
		"bad agent":       {"http://127.0.0.1:7500", "127.0.0.1:7500", `two.yaml:13: hosts[0].agent: "127.0.0.1:7500" is not the address of an agent: want http://HOST:PORT`},
		"agent twice":     {"zone: c, nodes", `zone: c, agent: "http://127.0.0.1:7500", nodes`, `two.yaml:17: hosts[1].agent: "http://127.0.0.1:7500" is the agent of another host too`},
		"too much jitter": {"jitter: 0.1ms", "jitter: 2ms", `two.yaml:7: latency.between.jitter: 2ms is more than the rtt: want at most 1ms`},
		"no inside":       {"  inside: {rtt: 0.2ms}\n", "", `latency.inside: missing`},
		"no between":      {"  between: {rtt: 1ms, jitter: 0.1ms}\n", "", `latency.between: missing`},
		"no latency":      {valid[strings.Index(valid, "latency:"):strings.Index(valid, "hosts:")], "", `two.yaml:1: latency: missing`},
		"bad pair":        {"[c, a]", "[c, c]", `two.yaml:9: latency.pairs[0].zones: ["c" "c"] is not a pair`},
		"no nodes":        {"nodes: [{name: worker-c, role: worker}]", "nodes: []", `two.yaml:17: hosts[1].nodes: missing`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(valid, tc.old, tc.new, 1)
			if text == valid {
				t.Fatal("the test changes nothing")
			}
			_, err := topology.Parse("two.yaml", []byte(text), "master", "worker")
			if !errors.Is(err, topology.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("hosts: !x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		topo, err := topology.Parse("fuzz.yaml", data)
		if err != nil && !errors.Is(err, topology.ErrInvalid) {
			t.Errorf("an error that does not wrap ErrInvalid: %v", err)
		}
		if err == nil && len(topo.NodesOf("master")) == 0 {
			t.Error("accepted a topology without a master")
		}
	})
}

// TestReduced takes nodes from one zone after the other, and leaves the other roles alone.
func TestReduced(t *testing.T) {
	top := load(t, "seoul-2az")
	for n, want := range map[int][]string{
		1: {"redis-a-1"}, 2: {"redis-a-1", "redis-c-1"}, 3: {"redis-a-1", "redis-a-2", "redis-c-1"}, 9: {"redis-a-1", "redis-a-2", "redis-a-3", "redis-c-1", "redis-c-2"},
	} {
		part := top.Reduced("redis", n)
		var got []string
		for _, p := range part.NodesOf("redis") {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) || len(part.Nodes()) != len(top.Nodes())-5+len(want) {
			t.Errorf("%d: %v, want %v and all others", n, got, want)
		}
	}
}

// TestWithout: a topology may say why nothing of it plays a role.
func TestWithout(t *testing.T) {
	const text = "name: x\nsummary: s\nzones:\n  - {name: zone-a, short: a}\nlatency: {inside: {rtt: 0s}}\nwithout: {etcd: %s}\nhosts:\n  - {name: m, zone: a, nodes: [{name: m, role: master}]}\n"
	topo, err := topology.Parse("t.yaml", []byte(strings.Replace(text, "%s", "no package", 1)), "master", "etcd")
	if err != nil || topo.Without["etcd"] != "no package" {
		t.Errorf("%v, %v", topo, err)
	}
	for why, roles := range map[string][]string{"": {"master", "etcd"}, "no package": {"master"}} {
		if _, err := topology.Parse("t.yaml", []byte(strings.Replace(text, "%s", why, 1)), roles...); !errors.Is(err, topology.ErrInvalid) || !strings.Contains(err.Error(), "t.yaml:6: without.etcd: ") {
			t.Errorf("%q of %q: %v", why, roles, err)
		}
	}
}

func TestWithAgents(t *testing.T) {
	local := load(t, "seoul-2az")
	local.Hosts[1].Agent = "http://10.0.0.1:1"
	away, err := local.WithAgents("http://{host}.control:7500")
	must.Do(t, err)
	if got, want := away.Hosts[0].Agent, "http://master-a.control:7500"; got != want {
		t.Errorf("the agent of master-a is %q, want %q", got, want)
	}
	if got, want := away.Hosts[1].Agent, "http://10.0.0.1:1"; got != want {
		t.Errorf("an agent that was named became %q, want %q", got, want)
	}
	if local.Hosts[0].Agent != "" {
		t.Error("the original was changed")
	}
	for _, bad := range []string{"", "http://agent:7500", "{host}:7500", "ftp://{host}", "http://u:p@{host}:1", "http://{host}/path"} {
		if _, err := local.WithAgents(bad); !errors.Is(err, topology.ErrInvalid) {
			t.Errorf("%q: want ErrInvalid, got %v", bad, err)
		}
	}
}
