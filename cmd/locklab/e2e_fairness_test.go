//go:build e2e

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/workloads/result"
)

// oneFarAway is a topology in which the master with the highest priority is far
// from the two others. What they send each other is quicker than the jitter of
// what they send it.
const oneFarAway = `name: one-far-away
zones:
  - {name: near, short: n}
  - {name: far, short: f}
latency:
  inside: {rtt: 0.4ms, jitter: 0.04ms}
  between: {rtt: 6ms, jitter: 3ms}
hosts:
  - {name: master-far, zone: f, nodes: [{name: master-far, role: master}]}
  - {name: master-1, zone: n, nodes: [{name: master-1, role: master}]}
  - {name: master-2, zone: n, nodes: [{name: master-2, role: master}]}
  - {name: worker-n, zone: n, nodes: [{name: worker-n, role: worker}]}
  - {name: worker-f, zone: f, nodes: [{name: worker-f, role: worker}]}
`

// TestE2EFairness shows on real processes what fixed priorities are worth: without
// the debt rule, the master with the highest priority is the one that is passed.
func TestE2EFairness(t *testing.T) {
	file := write(t, "far.yaml", oneFarAway)
	_, dir := compare(t, nil, 0, "--workload", "mutex", "--topology", file, "--scenarios", "baseline",
		"--locks", "multiphase,multiphase:fair=off", "--clients", "1", "--resources", "1", "--duration", "6s", "--seed", "1")
	const far = 2 // its place among the masters, which stand by name
	written := read(t, dir)
	fair, unfair := row(t, written, "multiphase", "baseline"), row(t, written, "multiphase:fair=off", "baseline")
	for _, r := range []result.Row{fair, unfair} {
		if len(r.Peers) != 3 || r.Figures["fairness"] == 0 {
			t.Fatalf("%s: %d masters, fairness %v", r.Lock, len(r.Peers), r.Figures["fairness"])
		}
		for i, want := range []struct{ node, zone string }{{"master-1", "n"}, {"master-2", "n"}, {"master-far", "f"}} {
			p := r.Peers[i]
			if p.Node != want.node || p.Zone != want.zone || p.Acquires == 0 || p.WaitMaxMS == 0 {
				t.Errorf("%s: master %d is %+v, want %v", r.Lock, i, p, want)
			}
		}
		t.Logf("%s: fairness %.3f, the far master was passed %.2f times a wait, %d at most", r.Lock, r.Figures["fairness"], r.Peers[far].BypassMean, r.Peers[far].BypassMax)
	}
	if without, with := unfair.Figures["fairness"], fair.Figures["fairness"]; without >= with {
		t.Errorf("fairness %.3f without the debt rule, %.3f with it", without, with)
	}
	if without, with := unfair.Peers[far].BypassMean, fair.Peers[far].BypassMean; without < 1.1*with {
		t.Errorf("the far master was passed %.2f times a wait without the debt rule, %.2f times with it", without, with)
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(text), "master-far") {
		t.Errorf("the report does not say who waited how long: %v", err)
	}
}
