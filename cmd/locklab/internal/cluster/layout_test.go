package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
	"locklab/nodes/redisnode"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

func layoutFor(t *testing.T, lock string) Layout {
	t.Helper()
	topo, err := topology.Load("seoul-2az")
	must.Do(t, err)
	bound, err := catalog.ParseList([]string{lock})
	must.Do(t, err)
	return NewLayout(bound[0], topo, "test", 1)
}

// TestPlanStartsOnlyWhatTheLockNeeds: and links exactly what dials.
func TestPlanStartsOnlyWhatTheLockNeeds(t *testing.T) {
	tests := []struct {
		lock         string
		nodes, wires int
	}{
		{"none", 2 + 6, 2 * 6},
		{"multiphase", 2 + 6, 2*6 + 2},
		{"redlock", 2 + 6 + 5, 2*6 + 2*5},
		{"raft", 2 + 6 + 3, 2*6 + 2*3 + 3*2},
		{"postgres", 2 + 6 + 1, 2*6 + 2*1},
		{"redis", 2 + 6 + 1, 2*6 + 2*1},
		{"redis:replica", 2 + 6 + 2 + 3, 2*6 + 2*(2+3) + 2*1 + 3*(2+2)}, // servers dial the other Redis, and Sentinels all others
		{"etcd", 2 + 6 + 3, 2*6 + 2*3 + 3*2},
		{"zookeeper", 2 + 6 + 3, 2*6 + 2*3 + 2*3*2}, // two ports of each other server
	}
	for _, tt := range tests {
		p := layoutFor(t, tt.lock)
		if got := len(p.Topology.Nodes()); got != tt.nodes {
			t.Errorf("%s: %d nodes, want %d", tt.lock, got, tt.nodes)
		}
		if len(p.wires) != tt.wires {
			t.Errorf("%s: %d wires, want %d", tt.lock, len(p.wires), tt.wires)
		}
		for _, pair := range p.HostPairs() {
			if pair[0] == pair[1] {
				t.Errorf("%s: %s is linked with itself", tt.lock, pair[0])
			}
		}
	}
}

// TestServersKnowEachOtherByOneAddress, whoever dials, and dial from their own.
func TestServersKnowEachOtherByOneAddress(t *testing.T) {
	p := layoutFor(t, "redis:replica")
	told, listens := map[string]string{}, map[string]bool{}
	for _, w := range p.wires {
		if !w.aliased {
			continue
		}
		s := p.atAlias(w, link.Spec{Name: w.to.Name})
		if s.Source != p.aliases[w.from.Name].Addr().String() || s.Listen != p.aliases[w.to.Name].String() || listens[s.Listen+" "+s.Source] {
			t.Errorf("%s to %s: %s from %s", w.from.Name, w.to.Name, s.Listen, s.Source)
		}
		listens[s.Listen+" "+s.Source] = true
	}
	for _, n := range p.Topology.NodesOf(redisnode.Name, redisnode.SentinelName) {
		text, err := p.settings(n)
		must.Do(t, err)
		told[n.Name] = string(text)
		if at := p.aliases[n.Name]; !at.Addr().IsLoopback() || p.nodeAt(at.String()) != n.Name || !strings.Contains(told[n.Name], `"announce":"`+at.String()) {
			t.Errorf("%s at %s is told %s", n.Name, at, text)
		}
	}
	first := p.aliases["redis-a-1"].String()
	for name, text := range told {
		if (name != "redis-a-1") != strings.Contains(text, `"primary":"`+first) {
			t.Errorf("%s is told %s, and the first primary is %s", name, text, first)
		}
	}
}

// TestSettingsNameTheDialersOwnLinks: every node is told the address of its own
// link, never that of another host or of the node behind it.
func TestSettingsNameTheDialersOwnLinks(t *testing.T) {
	p := layoutFor(t, "raft")
	for _, w := range p.wires {
		p.ways.Store(w, catalog.Way{Link: w.from.Name + ">" + w.to.Name})
	}
	for _, m := range p.Topology.NodesOf(role.Master) {
		var told catalog.MasterSettings
		text, err := p.settings(m)
		if err := errors.Join(err, json.Unmarshal(text, &told)); err != nil || len(told.Lock.Servers) != 3 {
			t.Fatalf("%s is told %s: %v; want three servers", m.Name, text, err)
		}
		for _, s := range told.Lock.Servers {
			if want := m.Name + ">" + s.Name; s.Addr != want {
				t.Errorf("%s reaches %s at %s, want %s", m.Name, s.Name, s.Addr, want)
			}
		}
	}
}

// TestNoNodeIsForgotten: whatever its role, it is started, and told something, or nothing
// is.
func TestNoNodeIsForgotten(t *testing.T) {
	for _, lock := range catalog.Names() {
		p := layoutFor(t, lock)
		started := slices.Concat(p.stages()...)
		if nodes := p.Topology.Nodes(); len(started) != len(nodes) || started[len(started)-1].Role != role.Master {
			t.Errorf("%s: %d of %d nodes are started, the masters last: %v", lock, len(started), len(nodes), started)
		}
		for _, n := range started {
			if _, err := p.settings(n); err != nil {
				t.Error(err)
			}
		}
	}
	p := layoutFor(t, "redlock")
	stray := topology.Node{Name: "etcd-1", Role: "etcd"}
	p.Topology.Hosts[0].Nodes = append(p.Topology.Hosts[0].Nodes, stray)
	if started := slices.Concat(p.stages()...); !slices.ContainsFunc(started, func(n topology.Placed) bool { return n.Node == stray }) {
		t.Errorf("a node of another role is not started: %v", started)
	}
	if _, err := p.settings(topology.Placed{Node: stray}); err == nil || !strings.Contains(err.Error(), "node etcd-1: nothing gives settings to the role etcd with the lock redlock") {
		t.Errorf("a node that nothing gives settings to: %v", err)
	}
}

func TestBaseDelayIsDrawnAroundHalfTheRoundTrip(t *testing.T) {
	d := oneWay(topology.RTT{RTT: time.Millisecond, Jitter: 100 * time.Microsecond})
	if d.Delay != 450*time.Microsecond || d.Jitter != 100*time.Microsecond {
		t.Errorf("%+v: want 450 to 550 us, whose middle is half of a millisecond", d)
	}
	if d := oneWay(topology.RTT{RTT: 2, Jitter: 100}); d.Delay < 0 {
		t.Errorf("a negative delay: %+v", d)
	}
}
