//go:build e2e

package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/testfile"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// TestE2ERunsShareServers: servers go on from run to run with what they were started as, until
// a fault hits them; what a holder that was killed leaves in them blocks nobody in the next run.
func TestE2ERunsShareServers(t *testing.T) {
	var list []string
	for _, lock := range []string{"etcd", "postgres", "zookeeper"} {
		if all, err := catalog.ParseList("", []string{lock}); err != nil {
			t.Fatal(err)
		} else if err := all[0].Missing(); err != nil {
			t.Logf("not with %s: %v", lock, err)
			continue
		}
		list = append(list, lock)
	}
	if len(list) == 0 {
		t.Skip("none of the servers is installed here: apt-get install etcd-server postgresql zookeeper")
	}
	file := write(t, "mine.yaml", `name: mine
parts:
  - {workload: mutex, locks: "`+strings.Join(list, ",")+`", scenarios: "holder-kill,baseline,majority-loss,zone-latency", duration: 3s, warmup: 200ms}
`)
	dir := filepath.Join(t.TempDir(), "out")
	run(t, nil, "run", "--suite", file, "--seed", "4", "--out", dir)
	nothingLeft(t)
	f := read(t, dir)
	for _, lock := range list {
		// majority-loss kills servers: the run after it begins with new ones.
		for scenario, shared := range map[string]bool{"holder-kill": false, "baseline": true, "majority-loss": true, "zone-latency": false} {
			r := row(t, f, lock, scenario)
			if r.Verdict.Safety.State != result.OK || r.History == "" {
				t.Errorf("%s under %s: %+v, %s", lock, scenario, r.Verdict, r.History)
			}
			states := statesOf(t, filepath.Join(dir, r.History), lock)
			if states[history.NodeShared] > 0 != shared || !shared && states[history.NodeStarted] == 0 || states[history.NodeLeft] > 0 != (scenario != "majority-loss") {
				t.Errorf("%s under %s: states of its servers: %v", lock, scenario, states)
			}
		}
		if r := row(t, f, lock, "baseline"); r.Figures["achieved_per_s"] == 0 || r.Verdict.Word == result.Down {
			t.Errorf("%s after a holder was killed: %v, %+v", lock, r.Figures, r.Verdict)
		}
	}
}

// statesOf counts what a history says of the lock's servers.
func statesOf(t *testing.T, path, servers string) map[string]int {
	t.Helper()
	states, decoder := map[string]int{}, history.NewDecoder()
	for line := range strings.Lines(string(testfile.Read(t, path))) {
		var e history.Event
		if err := decoder.Decode([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == history.KindNode && strings.HasPrefix(e.Node, servers) {
			states[e.State]++
		}
	}
	return states
}
