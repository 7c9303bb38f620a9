package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/program"
	"locklab/nodes/fakeclock"
	"locklab/nodes/topology"
)

// bound are the locks of a list; own are those that the catalogue has not.
func bound(t testing.TB, list string, own ...catalog.Lock) []catalog.Lock {
	t.Helper()
	all, err := catalog.ParseList([]string{list}, own...)
	must.Do(t, err)
	return all
}

// configFor is a comparison of locks, of two seconds of the usual workload.
func configFor(t testing.TB, topo *topology.Topology, list string) *Config {
	t.Helper()
	w := catalog.Workloads()[0]
	return &Config{
		Topology: topo, Locks: bound(t, list), Workload: w, Duration: 2 * time.Second, OwnDuration: true,
		Load: w.Flags(pflag.NewFlagSet("test", pflag.ContinueOnError)),
	}
}

// TestScenariosAreCheckedBeforeTheStart: what cannot happen is refused, with the place.
func TestScenariosAreCheckedBeforeTheStart(t *testing.T) {
	for _, c := range []struct {
		name, lock, topology, step, want string
	}{
		{"fits", "redlock", "seoul-2az", "{at: 30%, for: 35%, fault: zone-failure, target: zone:a}", ""},
		{"past the end", "redlock", "seoul-2az", "{at: 5s, fault: zone-failure, target: zone:a}", "x.yaml:3: fault zone-failure-1 is on from 5s"},
		{"no such zone", "redlock", "seoul-2az", "{at: 30%, fault: zone-failure, target: zone:q}", `x.yaml:3: fault zone-failure-1 on zone:q: no host for "zone:q"`},
		{"no such node", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: node:redis-99}", `no node for "node:redis-99"`},
		{"one zone has no others", "local", "one-host", "{at: 30%, fault: partition, between: [zone:a, others], mode: hold}", "x.yaml:3: fault partition-1 on zone:a <-> others: nothing is between the two sides, as there is no other host"},
		{"the lock has no such server", "raft", "seoul-2az", "{at: 30%, fault: kill, target: role:redis}", `x.yaml:3: fault kill-1 on role:redis: no node for "role:redis"`},
		{"the lock has no leader", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: leader}", "x.yaml:3: fault kill-1 on leader: find the leader: no node has the role raft"},
		{"the lock has a leader", "raft", "seoul-2az", "{at: 30%, fault: kill, target: leader}", ""},
		{"the lock has no primary", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: primary}", "x.yaml:3: fault kill-1 on primary: find the primary: no node is a primary"},
		{"the only server is one", "redis", "seoul-2az", "{at: 30%, fault: kill, target: primary}", ""},
		{"some other lock has one", "redlock,redis:replica", "seoul-2az", "{at: 30%, fault: kill, target: primary}", ""},
		{"the workload has the resource", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: holder-of:g3}", ""},
		{"the workload has no such resource", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: holder-of:r1}", "x.yaml:3: fault kill-1 on holder-of:r1: find the holder-of:r1: want one of the workload's resources, g1 to g20"},
		{"any lock has holders", "none", "seoul-2az", "{at: 30%, fault: pause, target: holder}", ""},
		{"no such role", "redlock", "seoul-2az", "{at: 30%, fault: kill, target: holder, lose_data: [reddis]}", `x.yaml:3: fault kill-1: lose_data: "reddis" is not a role: want one of master, worker`},
		{"raft forgets", "raft", "seoul-2az", "{at: 30%, fault: kill, target: role:raft, lose_data: [raft]}", "x.yaml:3: fault kill-1: lose_data: raft servers that forget their votes may elect two leaders"},
		{"no server", "none", "seoul-2az", "{at: 30%, fault: kill, target: majority:server}", `x.yaml:3: fault kill-1 on majority:server: no node for "majority:server"`},
		{"any lock's servers", "postgres", "seoul-2az", "{at: 30%, fault: kill, target: majority:server}", ""},
		{"Sentinels are no such servers", "redis:replica", "seoul-2az", "{at: 30%, fault: kill, target: minority:server}", `no node for "minority:server"`},
		{"does not apply", "raft", "seoul-2az", "{at: 30%, fault: kill, target: holder}\nexpect:\n  - {when: {lock: [raft, etcd]}, not_for: it is not about them}", "x.yaml:5: it is not about them"},
		{"applies to another lock", "raft,none", "seoul-2az", "{at: 30%, fault: kill, target: holder}\nexpect:\n  - {when: {lock: [raft, etcd]}, not_for: it is not about them}", ""},
		{"zookeeper forgets", "zookeeper", "seoul-2az", "{at: 30%, fault: kill, target: role:zookeeper, lose_data: [zookeeper]}", "x.yaml:3: fault kill-1: lose_data: an ensemble most of whose servers forget what they have acknowledged begins again"},
		{"no disk", "redlock", "seoul-2az", "{at: 30%, fault: slow-disk, target: majority:server, delay: 50ms}", "x.yaml:3: fault slow-disk-1 on majority:server: nothing is kept on a disk by redis-a-1, redis-a-2, redis-a-3"},
		{"masters whose servers have the disk", "raft", "seoul-2az", "{at: 30%, fault: slow-disk, target: role:master, delay: 50ms}", "nothing is kept on a disk by master-a"},
		{"some of a zone have a disk", "raft", "seoul-2az", "{at: 30%, fault: slow-disk, target: zone:a, delay: 50ms}", ""},
		{"a disk", "redlock:persistence=always", "seoul-2az", "{at: 30%, fault: full-disk, target: majority:server}", ""},
		{"a disk of masters", "multiphase:quorum", "seoul-2az", "{at: 30%, fault: full-disk, target: holder}", ""},
		{"longer than a lease", "redis:ttl=1s", "seoul-2az", "{at: 20%, for: 60%, fault: kill, target: holder}\noutlasts: lease", ""},
		{"no lease to outlast", "none", "seoul-2az", "{at: 20%, for: 60%, fault: kill, target: holder}\noutlasts: lease", ""},
		{"not longer than a lease", "redis:ttl=2s", "seoul-2az", "{at: 20%, for: 60%, fault: kill, target: holder}\noutlasts: lease", "x.yaml:3: fault kill-1 lasts for 1.2s of a run of 2s, and a lease of redis:ttl=2s for 2s: want it to last for longer, a longer run or a shorter lease"},
		{"too short", "redlock", "seoul-2az", "{at: 99%, for: 1%, fault: kill, target: holder}", "x.yaml:3: fault kill-1 is on from 1.98s to 2s of a run of 2s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refuses(t, configFor(t, nil, c.lock), c.topology, "name: x\ntimeline:\n  - "+c.step+"\n", c.want)
		})
	}
}

// reads has the configuration take scenarios on a topology, with the locks that it has.
func reads(config *Config, topology string, scenarios ...string) error {
	config.Names = Names{Topology: topology, Scenarios: scenarios}
	return errors.Join(config.readTopology(), config.readScenarios())
}

// refuses sees that the configuration takes a scenario on a topology, or refuses it with a text.
func refuses(t *testing.T, config *Config, topology, scenario, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	testfile.Write(t, path, scenario)
	err := reads(config, topology, path)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestScenariosThatCannotBeRun: what the user's programs are to break is refused where they are not named.
func TestScenariosThatCannotBeRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)) //nolint:gosec // it is to be run
	const text = "name: cloud\nmin_duration: 3m\ntimeline:\n  - {at: 20%, for: 50%, fault: external, run: [fis, c], effect: stop, target: \"zone:c\"}\n"
	for _, c := range []struct {
		allowed  []string
		duration time.Duration
		want     string
	}{
		{nil, time.Hour, `--scenarios: cloud: programs "fis": none is allowed: want --external fis=START,STOP`},
		{[]string{"other=" + program + "," + program}, time.Hour, "allowed are other: want --external fis=START,STOP"},
		{[]string{"fis=" + program + "," + program}, 179 * time.Second, "--duration 2m59s: want at least 3m0s for the scenario cloud"},
		{[]string{"fis=" + program + "," + program}, 3 * time.Minute, ""},
	} {
		config := configFor(t, nil, "none")
		config.Duration = c.duration
		var err error
		config.External, err = external.Parse(c.allowed)
		must.Do(t, err)
		refuses(t, config, "seoul-2az", text, c.want)
	}
}

// TestFaultsReachLockPrograms: a scenario whose fault would hit a master, and not its lock
// program, does not apply to it. It stays for the other locks.
func TestFaultsReachLockPrograms(t *testing.T) {
	for _, c := range []struct {
		name, step string
		servers    []program.Need
		want       string
	}{
		{"the clock of a master", "{at: 30%, fault: clock-step, target: holder, by: 30s}", nil, "which has the machine's clock"},
		{"it drifts", "{at: 30%, fault: clock-drift, target: role:master, rate: 2}", nil, "which has the machine's clock"},
		{"data of a master", "{at: 30%, fault: kill, target: zone:a, lose_data: [master]}", nil, "which has its files elsewhere"},
		{"a full disk", "{at: 30%, fault: full-disk, target: role:master}", nil, "which has its files elsewhere"},
		{"the clock of its servers", "{at: 30%, fault: clock-step, target: role:redis, by: 30s}", []program.Need{{Role: "redis"}}, ""},
		{"data of its servers", "{at: 30%, fault: kill, target: zone:a, lose_data: [redis]}", []program.Need{{Role: "redis"}}, ""},
		{"its syncs", "{at: 30%, fault: slow-disk, target: role:master, delay: 50ms}", nil, ""},
		{"its process", "{at: 30%, fault: kill, target: holder}", nil, ""},
		{"its process stands still", "{at: 30%, fault: pause, target: holder, point: granted}", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "servers") {
				if err := fakeclock.Missing(); err != nil {
					t.Skip(err)
				}
			}
			mine, err := catalog.OfProgram("mine", program.Command{Args: []string{"mine"}}, program.Hello{Servers: c.servers})
			must.Do(t, err)
			config := configFor(t, nil, "redis")
			config.Locks = append(config.Locks, mine)
			config.Suite = true
			refuses(t, config, "seoul-2az", "name: x\ntimeline:\n  - "+c.step+"\n", "")
			why := ""
			for _, u := range config.Unfit {
				if u.Lock == "mine" {
					why = u.Why
				}
			}
			if (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
				t.Errorf("left out because: %q, want %q", why, c.want)
			}
		})
	}
}

// TestHoldersOfWhatIsLocked: what a workload locks is known before the start.
func TestHoldersOfWhatIsLocked(t *testing.T) {
	const text = "name: x\n%stimeline:\n  - {at: 30%%, fault: kill, target: holder-of:r9}\n"
	for _, c := range []struct{ workload, flags, wants, want string }{
		{"mutex", "", "", "want one of the workload's resources, r1 to r1"},
		{"mutex", "--resources=4", "resources: 9\n", "want one of the workload's resources, r1 to r4"},
		{"mutex", "--resources=9", "", ""},
		{"fenced-write", "", "resources: 9\n", ""},
		{"fenced-write", "", "resources: 8\n", "want one of the workload's resources, r1 to r8"},
		{"handoff", "", "resources: 9\n", "want one of the workload's resources, r1 to r1"},
	} {
		config := configFor(t, nil, "redlock")
		for _, w := range catalog.Workloads() {
			if w.Name == c.workload {
				flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
				config.Workload, config.Load = w, w.Flags(flags)
				must.Do(t, flags.Parse(strings.Fields(c.flags)))
			}
		}
		refuses(t, config, "seoul-2az", fmt.Sprintf(text, c.wants), c.want)
	}
}

// TestBuiltinScenariosFit: whoever runs them for the shortest time there is gets them.
func TestBuiltinScenariosFit(t *testing.T) {
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name, "")
		must.Do(t, err)
		lock := "redis:replica" // of what has only a primary to break
		for _, other := range bound(t, "multiphase:quorum,redlock,redlock:persistence=always,raft,postgres") {
			if _, unfit, err := Expected(name, "seoul-2az", other); err == nil && unfit == nil {
				lock = other.String()
			}
		}
		for _, topology := range []string{"seoul-2az", "seoul-3az", otherZones(t)} {
			var refused []error // by each workload
			for _, w := range catalog.Workloads() {
				config := configFor(t, nil, lock)
				config.Workload, config.Duration = w, max(time.Second, s.MinDuration)
				if s.OutlastsLease {
					config.Duration = 6 * time.Second // of 3 s
				}
				if err := reads(config, topology, name); err != nil {
					refused = append(refused, err)
				}
			}
			if len(refused) == len(catalog.Workloads()) {
				t.Errorf("%s: %v", topology, errors.Join(refused...))
			}
		}
	}
}

// otherZones is a topology whose zones have other names than those that are built in.
func otherZones(t *testing.T) string {
	t.Helper()
	text := string(testfile.Read(t, filepath.Join("..", "..", "..", "..", "nodes", "topology", "builtin", "seoul-3az.yaml")))
	for short, name := range map[string]string{"a": "seoul-1", "b": "tokyo", "c": "us"} {
		text = strings.NewReplacer("short: "+short+"}", "short: "+name+"}", "zone: "+short+",", "zone: "+name+",").Replace(text)
	}
	path := filepath.Join(t.TempDir(), "regions.yaml")
	testfile.Write(t, path, strings.Replace(text, "name: seoul-3az", "name: regions", 1))
	return path
}

// TestTooShortForAScenario: what needs longer runs is refused alone, and left out with its
// reason beside others.
func TestTooShortForAScenario(t *testing.T) {
	const never = "it has no replica that could be promoted"
	for _, c := range []struct {
		lock      string
		scenarios []string
		suite     bool
		refused   bool
		unfit     int
		why       string
	}{
		{lock: "redis:replica", scenarios: []string{"failover"}, refused: true},
		{lock: "redis:replica", scenarios: []string{"failover"}, suite: true, unfit: 1},
		{lock: "redis:replica", scenarios: []string{"failover", "baseline"}, unfit: 1},
		{lock: "redis:replica", scenarios: []string{"baseline"}},
		{lock: "raft", scenarios: []string{"failover"}, refused: true, why: never}, // however long it runs
		{lock: "raft", scenarios: []string{"failover", "baseline"}, refused: true, why: never},
	} {
		config := configFor(t, nil, c.lock)
		config.Duration, config.Suite = 2*time.Second, c.suite
		why := cmp.Or(c.why, "--duration 2s: want at least 8s for the scenario failover")
		err := reads(config, "seoul-2az", c.scenarios...)
		if (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), why) {
			t.Errorf("%v: got %v", c, err)
		}
		if len(config.Unfit) != c.unfit || c.unfit > 0 && !strings.Contains(config.Unfit[0].Why, why) {
			t.Errorf("%v: left out: %+v", c, config.Unfit)
		}
	}
}

// TestDefaultDuration is enough for each scenario; the user's stays.
func TestDefaultDuration(t *testing.T) {
	for _, c := range []struct {
		scenarios []string
		episodes  int
		own       bool
		want      time.Duration
	}{
		{[]string{"baseline"}, 1, false, DefaultDuration},
		{[]string{"baseline", "power-loss", "failover"}, 1, false, 11 * time.Second},
		{[]string{"power-loss"}, 2, false, 22 * time.Second},
		{[]string{"power-loss", "baseline"}, 1, true, DefaultDuration},
	} {
		config := configFor(t, nil, "redis:replica")
		config.Duration, config.OwnDuration, config.Episodes = DefaultDuration, c.own, c.episodes
		if err := reads(config, "seoul-2az", c.scenarios...); err != nil || config.Duration != c.want {
			t.Errorf("%+v: %v, %v", c, config.Duration, err)
		}
	}
}

// TestRunsLastUntilFaultsHaveSettled: and two seconds on, so that a lock that does not come back is seen.
func TestRunsLastUntilFaultsHaveSettled(t *testing.T) {
	c := configFor(t, nil, "multiphase,redlock")
	must.Do(t, reads(c, "seoul-2az", "baseline", "holder-kill"))
	for _, duration := range []time.Duration{DefaultDuration, 2 * DefaultDuration, DefaultDuration / 2} {
		c.Duration = duration
		for lock, s := range c.eachFit {
			want := duration
			for _, p := range planned(s, duration) {
				settled := time.Duration(p.AtNS+p.ForNS) + max(1500*time.Millisecond, lock.Lease+500*time.Millisecond)
				want = max(want, settled+2*time.Second)
			}
			if got := c.measures(lock, s); got != want {
				t.Errorf("--duration %v: %s under %s measures for %v, want %v", duration, lock, s.Name, got, want)
			}
		}
	}
}
