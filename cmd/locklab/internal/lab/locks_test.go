package lab

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
	"locklab/internal/testfile"
)

// TestLocksForTheTopology: servers are wanted where they would run. A topology's hosts
// elsewhere may have what this machine has not, and the other way round.
func TestLocksForTheTopology(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // this machine has no server
	away := filepath.Join(t.TempDir(), "away.yaml")
	text := `name: away
zones:
  - {name: ap-northeast-2a, short: a}
latency: {inside: {rtt: 0s}, between: {rtt: 0s}}
without: {postgres: "nobody has packed it"}
hosts:
  - {name: master-a, zone: a, agent: "http://10.0.0.1:7500", nodes: [{name: master-a, role: master}]}
  - {name: worker-a, zone: a, agent: "http://10.0.0.2:7500", nodes: [{name: worker-a, role: worker}]}
  - {name: etcd-a, zone: a, agent: "http://10.0.0.3:7500", nodes: [{name: etcd-a, role: etcd}]}
`
	testfile.Write(t, away, text)
	const (
		noEtcd    = "etcd is not installed here: apt-get install etcd-server"
		noRaft    = "the topology away has no node with the role raft"
		noPackage = "the topology away has no node with the role postgres: nobody has packed it"
	)
	for _, c := range []struct {
		topology, agents string
		has              []string
		lacks            map[string]string // of a lock's name: why
	}{
		{"seoul-2az", "", []string{"none", "multiphase", "raft"}, map[string]string{"etcd": noEtcd}},
		{"seoul-2az", "http://{host}:7500", []string{"none", "raft", "etcd", "postgres"}, nil},
		{away, "", []string{"none", "multiphase", "etcd"}, map[string]string{"raft": noRaft, "postgres": noPackage}},
	} {
		use := func(names ...string) (*Config, error) {
			config := &Config{Names: Names{Topology: c.topology, Agents: c.agents, Locks: names}}
			return config, config.Resolve()
		}
		all, err := use("all")
		must.Do(t, err)
		if len(all.Locks)+len(all.Unavailable) != len(catalog.Names()) {
			t.Errorf("%s: %d locks and %d unavailable, of %d", c.topology, len(all.Locks), len(all.Unavailable), len(catalog.Names()))
		}
		for _, name := range c.has {
			if !slices.ContainsFunc(all.Locks, func(l catalog.Lock) bool { return l.Name == name }) {
				t.Errorf("%s: all is without %s: %q", c.topology, name, all.Unavailable)
			}
			if _, err := use(name); err != nil {
				t.Errorf("%s: %v", c.topology, err)
			}
		}
		for name, why := range c.lacks {
			if !slices.Contains(all.Unavailable, name+" is unavailable: "+why) {
				t.Errorf("%s: want why %s is unavailable, %q, in %q", c.topology, name, why, all.Unavailable)
			}
			if _, err := use("none", name); err == nil || !strings.HasSuffix(err.Error(), "--locks: "+name+": "+why) {
				t.Errorf("%s: got %v, want %q", c.topology, err, why)
			}
		}
	}
}
