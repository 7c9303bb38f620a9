//go:build e2e

package main_test

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/result"
)

// TestE2EUnasked: what somebody does by hand to the processes of a run is named, and
// decides nothing: a worker dies, and another one stands still to the end.
func TestE2EUnasked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "run", "--locks", "multiphase", "--scenarios", "baseline", "--duration", "4s", "--out", dir)
	awaitStage(t, dir, 1, "measuring")
	workers := nodesOf(t, "worker")
	if len(workers) < 2 {
		t.Fatalf("there should be several: %v", processes(t))
	}
	must.Do(t, errors.Join(syscall.Kill(workers[0], syscall.SIGKILL), syscall.Kill(workers[1], syscall.SIGSTOP)))
	awaitStage(t, dir, 1, "stopping")
	must.Do(t, syscall.Kill(workers[1], syscall.SIGCONT))
	lab.wants(t, 4)
	r := read(t, dir).Rows[0]
	if !blames(r, result.NodeLost) || !strings.Contains(r.Verdict.Sound.Of, "worker") {
		t.Errorf("%+v", r.Verdict)
	}
	hit := map[string]bool{}
	for _, f := range slices.DeleteFunc(r.Faults, machineStood) {
		hit[f.Target] = strings.HasPrefix(f.Target, "node worker")
	}
	if len(hit) != 2 || slices.Contains(slices.Collect(maps.Values(hit)), false) {
		t.Errorf("the ledger has %+v, want two workers", r.Faults)
	}
	mustRun(t, 4, "check", filepath.Join(dir, r.History))
	nothingLeft(t)
}

// nodesOf are the processes of all nodes of a role.
func nodesOf(t *testing.T, role string) []int {
	t.Helper()
	var pids []int
	for _, line := range processes(t) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[2] == "node" && fields[3] == role {
			pid, err := strconv.Atoi(fields[0])
			must.Do(t, err)
			pids = append(pids, pid)
		}
	}
	return pids
}
