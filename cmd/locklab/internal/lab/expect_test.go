package lab

import (
	"cmp"
	"strings"
	"testing"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/adapters"
	"locklab/locks/program"
	"locklab/nodes/topology"
)

// told is what comes out of the rules, in short.
func told(t *testing.T, name, place string, lock catalog.Lock) string {
	t.Helper()
	e, unfit, err := Expected(name, place, lock)
	must.Do(t, err)
	if unfit != nil {
		return "-"
	}
	return cmp.Or(e.Safety, "?") + " " + strings.Join(e.Liveness, "/")
}

// TestExpectations: what the rules say where locks differ, by their traits and by what is left of
// them in each topology.
func TestExpectations(t *testing.T) {
	library, _ := adapters.Find("redis-py") // its holds end by their release alone
	hello := program.Hello{Servers: []program.Need{{Role: "redis", Nodes: 1}}}
	redisPy, err := catalog.OfAdapter(library, program.Command{}, hello)
	must.Do(t, err)
	for _, c := range []struct{ scenario, locks, in2, in3 string }{
		{"baseline", "redlock,raft,multiphase,lamport,postgres", "safe live", "safe live"},
		{"baseline", "none,local", "unsafe live", "unsafe live"},
		{"baseline", "multiphase:rule=literal", "? live", "? live"},
		{"zone-partition", "multiphase,lamport:detect=on,ricart-agrawala:detect=on", "unsafe live/stalls", "unsafe live/stalls"},
		{"zone-partition", "lamport,ricart-agrawala,2pc", "safe down", "safe down"},
		{"zone-partition", "multiphase:quorum", "safe down", "safe live/stalls"},
		{"zone-partition", "redlock,raft", "safe live/stalls", "safe live/stalls"},
		{"zone-partition", "redis,postgres,etcd,zookeeper", "safe live/stalls/down", "safe live/stalls/down"},
		{"zone-partition", "redis:release=naive", "? live/stalls/down", "? live/stalls/down"},
		{"zone-partition", "redis:replica", "safe live/stalls/down", "? live/stalls/down"},
		{"zone-partition", "redis:replica,wait=1", "safe live/stalls/down", "safe live/stalls/down"},
		{"zone-partition-reset", "postgres,postgres:advisory", "? live/stalls", "? live/stalls"},
		{"zone-partition-reset", "redis-py", "safe live/stalls/down", "safe live/stalls/down"},
		{"link-flap", "redis-py", "safe live/stalls/down", "safe live/stalls/down"},
		{"one-way-partition", "lamport", "safe stalls/down", "safe stalls/down"},
		{"one-way-partition", "multiphase", "? live/stalls", "? live/stalls"},
		{"zone-failure", "redlock,raft,etcd,zookeeper,multiphase:quorum", "safe down", "safe live/stalls"},
		{"zone-failure", "multiphase,lamport:detect=on", "safe live/stalls", "safe live/stalls"},
		{"zone-failure", "redis,postgres", "safe down", "safe down"},
		{"zone-failure", "redis-py", "? down", "? down"},
		{"holder-kill", "redlock,raft,postgres", "safe live/stalls", "safe live/stalls"},
		{"holder-kill", "multiphase:quorum", "safe stalls/down", "safe live/stalls"},
		{"holder-kill", "redis-py", "safe live/stalls/down", "safe live/stalls/down"},
		{"holder-pause", "redlock,raft,etcd,etcd:guard=on", "? live/stalls", "? live/stalls"},
		{"holder-pause", "postgres,redis-py", "safe live/stalls/down", "safe live/stalls/down"},
		{"leader-pause", "raft", "safe live/stalls", "safe live/stalls"},
		{"leader-pause", "etcd,zookeeper", "safe live/stalls/down", "safe live/stalls/down"},
		{"leader-kill", "raft,etcd,zookeeper", "safe live/stalls", "safe live/stalls"},
		{"leader-kill", "redlock,none,postgres,multiphase", "-", "-"},
		{"redis-restart", "redlock,redsync,redis,redis-py", "unsafe live/stalls", "unsafe live/stalls"},
		{"redis-restart", "redlock:persistence=always,redis:persistence=always", "safe live/stalls", "safe live/stalls"},
		{"redis-restart", "redlock:persistence=everysec", "? live/stalls", "? live/stalls"},
		{"restart-one", "redlock,redsync", "unsafe live/stalls", "unsafe live/stalls"},
		{"restart-one", "raft", "safe live/stalls", "safe live/stalls"},
		{"restart-one", "etcd", "? live/stalls", "? live/stalls"},
		{"restart-one", "redis,postgres,redis:replica", "-", "-"},
		{"restart-delayed", "redlock,redis", "safe live/stalls/down", "safe live/stalls/down"},
		{"restart-delayed", "redlock:restart_delay=100ms,redis:restart_delay=100ms", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"restart-delayed", "redis-py", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"server-clock", "redlock,redis", "unsafe live/stalls", "unsafe live/stalls"},
		{"server-clock", "redis:setnx-getset", "safe live/stalls", "safe live/stalls"},
		{"server-clock", "redis:replica", "? live/stalls/down", "? live/stalls/down"},
		{"server-clock", "postgres,raft,redis-py", "safe live", "safe live"},
		{"client-clock", "redis:setnx-getset", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"client-clock", "redlock,raft,postgres:lease,multiphase:quorum", "safe live", "safe live"},
		{"late-release", "redis:release=naive", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"failover", "redis:replica", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"failover", "redis:replica,wait=1", "safe live/stalls/down", "safe live/stalls/down"},
		{"session-expired", "multiphase", "unsafe live/stalls/down", "unsafe live/stalls/down"},
		{"restart-majority", "redlock,redis", "unsafe live/stalls", "unsafe live/stalls"},
		{"restart-majority", "etcd", "? live/stalls/down", "? live/stalls/down"},
		{"restart-majority", "zookeeper,postgres:lease", "safe live/stalls/down", "safe live/stalls/down"},
		{"majority-loss", "raft,postgres", "safe down", "safe down"},
		{"majority-loss", "redlock,redis,redlock:persistence=everysec,redis-py", "? down", "? down"},
		{"majority-loss", "redlock:persistence=always,redlock:ttl=1s,redis:ttl=1s", "safe down", "safe down"},
		{"slow-disk", "raft,etcd,zookeeper,postgres,redlock:persistence=always", "safe live/stalls/down", "safe live/stalls/down"},
		{"slow-disk", "redlock,postgres:advisory", "-", "-"},
		{"slow-disk-peers", "multiphase:quorum", "safe live/stalls/down", "safe live/stalls/down"},
		{"wakeup-lost", "redis-py", "safe live/stalls", "safe live/stalls"},
		{"power-loss", "redis-py", "unsafe live/stalls/down", "unsafe live/stalls/down"},
	} {
		for _, lock := range bound(t, c.locks, redisPy) {
			for place, want := range map[string]string{"seoul-2az": c.in2, "seoul-3az": c.in3} {
				if got := told(t, c.scenario, place, lock); got != want {
					t.Errorf("%s under %s in %s: %s, want %s", lock, c.scenario, place, got, want)
				}
			}
		}
	}
}

// TestScenariosSayWhy: of every lock, every built-in scenario says what must happen and why, and
// of its safety where that is written; or it does not apply.
func TestScenariosSayWhy(t *testing.T) {
	for _, name := range scenario.Names() {
		for _, text := range catalog.WithVariants() {
			lock := bound(t, strings.TrimSuffix(text, ":"))[0]
			for _, place := range topology.Names() {
				e, unfit, err := Expected(name, place, lock)
				switch {
				case err != nil:
					t.Fatal(err)
				case unfit == nil && (e.SafetyBy.Why == "" || e.SafetyBy.Source == "" || e.LivenessBy.Why == "" || len(e.LivenessBy.Liveness) == 0):
					t.Errorf("%s of %s in %s: want why, a source, and a word: %+v", name, lock, place, e)
				}
			}
		}
	}
}

// TestNewLock: of a lock that no scenario and no rule names, all is expected that its traits say. This
// one has one server with leases by its own monotonic clock, on what PostgreSQL's nodes are here.
func TestNewLock(t *testing.T) {
	added := bound(t, "postgres:lease")[0]
	added.Spec = locks.Spec{Name: "brand-new", Options: map[string]string{}}
	added.Name, added.Traits = added.Spec.Name, locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseOwn, Keeps: locks.KeepsEverything, Tokens: true}
	want := map[string]string{
		"baseline": "safe live", "herd": "safe live/stalls", "zone-latency": "safe live/stalls", "sea-cable": "safe live/stalls",
		"zone-partition": "safe live/stalls/down", "zone-partition-reset": "safe live/stalls/down", "one-way-partition": "safe live/stalls/down", "link-flap": "safe live/stalls/down",
		"zone-failure": "safe down", "majority-loss": "safe down", "failure-in-partition": "safe stalls/down",
		"holder-kill": "safe live/stalls", "holder-pause": "? live/stalls", "granted-pause": "? live/stalls", "session-expired": "safe live/stalls/down",
		"client-clock": "safe live", "server-clock": "safe live", "server-drift": "? live/stalls", "restart-majority": "safe live/stalls", "slow-disk": "safe live/stalls/down", "full-disk": "safe live/stalls/down",
		"server-gone": "safe down", "slow-news": "safe live/stalls",
		"power-loss": "safe live/stalls/down", "power-loss-one": "safe live/stalls/down", "power-loss-all": "safe live/stalls/down",
		"zone-power": "safe live/stalls/down", "flaky": "safe live/stalls", "slow-zone": "safe live/stalls", "limp": "safe live/stalls",
	}
	for _, name := range scenario.Names() {
		for _, place := range []string{"seoul-2az", "seoul-3az"} {
			if got := told(t, name, place, added); got != cmp.Or(want[name], "-") {
				t.Errorf("%s in %s: %s, want %q", name, place, got, want[name])
			}
		}
	}
	added.Traits = locks.Traits{Agree: locks.AgreeUnknown}
	for name, want := range map[string]string{"baseline": "safe live", "zone-partition": "safe ", "holder-pause": "safe "} {
		if got := told(t, name, "seoul-2az", added); got != want {
			t.Errorf("of a lock that says nothing of itself, under %s: %q, want %q", name, got, want)
		}
	}
}

// TestSafeUnderPowerLoss: the suite safe counts nothing where a lock is not judged.
func TestSafeUnderPowerLoss(t *testing.T) {
	for _, lock := range bound(t, "redis:persistence=always,redlock:persistence=always,raft,etcd:ttl=10s,zookeeper,postgres:lease,conns=8") {
		if got := told(t, "power-loss", "seoul-2az", lock); got != "safe live/stalls/down" {
			t.Errorf("%s: %s", lock, got)
		}
	}
	for _, lock := range bound(t, "etcd,postgres") {
		if got := told(t, "power-loss", "seoul-2az", lock); got != "? live/stalls/down" {
			t.Errorf("%s: %s", lock, got)
		}
	}
}
