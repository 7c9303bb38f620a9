package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/internal/catalog"
)

// TestScenariosAreCheckedBeforeTheStart: what cannot happen is refused, with the place.
func TestScenariosAreCheckedBeforeTheStart(t *testing.T) {
	for _, c := range []struct {
		name, lock, topology, step, want string
		duration                         time.Duration
	}{
		{"fits", "redlock", "seoul-2az", "{at: 30%, for: 35%, fault: zone-failure, target: zone:a}", "", 2 * time.Second},
		{"past the end", "redlock", "seoul-2az", "{at: 5s, fault: zone-failure, target: zone:a}", "x.yaml:3: fault zone-failure-1 begins at 5s", 2 * time.Second},
		{"no such zone", "redlock", "seoul-2az", "{at: 30%, fault: zone-failure, target: zone:q}", `x.yaml:3: fault zone-failure-1 on zone:q: no host for "zone:q"`, 2 * time.Second},
		{"names the zones", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: zone:q}", "topology seoul-2az has the zones a, c", 2 * time.Second},
		{"no such node", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: node:redis-99}", `no node for "node:redis-99"`, 2 * time.Second},
		{"one zone has no others", "local", "one-host", "{at: 30%, fault: partition, between: [zone:a, others], mode: hold}", "x.yaml:3: fault partition-1 on zone:a <-> others: no host but", 2 * time.Second},
		{"the lock has no such server", "raft", "seoul-2az", "{at: 30%, fault: kill, target: role:redis}", "with the lock raft there are the zones a, c and the roles", 2 * time.Second},
		{"the lock has no leader", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: leader}", "x.yaml:3: fault kill-1 on leader: find the leader: no node has the role raft", 2 * time.Second},
		{"the lock has a leader", "raft", "seoul-2az", "{at: 30%, fault: kill, target: leader}", "", 2 * time.Second},
		{"any lock has holders", "none", "seoul-2az", "{at: 30%, fault: pause, target: holder}", "", 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.yaml")
			if err := os.WriteFile(path, []byte("name: x\ntimeline:\n  - "+c.step+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			specs, err := catalog.ParseList([]string{c.lock})
			if err != nil {
				t.Fatal(err)
			}
			config := Config{Locks: specs, Workload: Matchmaking, Duration: c.duration}
			err = config.Load(c.topology, []string{path})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestBuiltinScenariosFit: whoever runs them for the shortest time there is gets them.
func TestBuiltinScenariosFit(t *testing.T) {
	specs, err := catalog.ParseList([]string{"raft"})
	if err != nil {
		t.Fatal(err)
	}
	for _, topology := range []string{"seoul-2az", "seoul-3az"} {
		config := Config{Locks: specs, Workload: Matchmaking, Duration: time.Second}
		if err := config.Load(topology, ScenarioNames()); err != nil {
			t.Errorf("%s: %v", topology, err)
		}
	}
}
