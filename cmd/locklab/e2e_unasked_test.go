//go:build e2e

package main_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"locklab/workloads/result"
)

// TestE2EUnasked: what somebody does by hand to the processes of a run is named, and
// decides nothing.
func TestE2EUnasked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, role string
		signal     syscall.Signal
		only       int // how many of them; 0 is all
		why        result.Code
	}{
		{"all workers die", "worker", syscall.SIGKILL, 0, result.NodeLost},
		{"a worker is stopped", "worker", syscall.SIGSTOP, 1, result.NodeLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			lab := begin(t, nil, "run", "--locks", "multiphase", "--scenarios", "baseline", "--duration", "4s", "--out", dir)
			awaitStage(t, dir, 1, "measuring")
			hit := nodesOf(t, c.role)
			if len(hit) < 2 {
				t.Fatalf("there should be several of the role %s: %v", c.role, processes(t))
			}
			if c.only > 0 {
				hit = hit[:c.only]
			}
			for _, pid := range hit {
				if err := syscall.Kill(pid, c.signal); err != nil {
					t.Fatal(err)
				}
			}
			if c.signal == syscall.SIGSTOP {
				awaitStage(t, dir, 1, "stopping")
				for _, pid := range hit {
					if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
						t.Fatal(err)
					}
				}
			}
			lab.wants(t, 4)
			r := read(t, dir).Rows[0]
			if !blames(r, c.why) || !strings.Contains(r.Verdict.Sound.Of, c.role) {
				t.Errorf("%+v", r.Verdict)
			}
			ours := slices.DeleteFunc(r.Faults, machineStood)
			if len(ours) != len(hit) || slices.ContainsFunc(ours, func(f result.Fault) bool { return !strings.HasPrefix(f.Target, "node "+c.role) }) {
				t.Errorf("the ledger has %+v, want %d of the role %s", ours, len(hit), c.role)
			}
			mustRun(t, 4, "check", filepath.Join(dir, r.History))
		})
	}
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
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}
