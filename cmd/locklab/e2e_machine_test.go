//go:build e2e

package main_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/result"
)

// TestE2EBusyMachineJudgesNothing runs beside so many busy loops that hardly anything of
// the lab gets a CPU: whatever is seen then, it is the machine that is seen.
func TestE2EBusyMachineJudgesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux tells who waits for a CPU")
		return
	}
	for range 16 * runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		must.Do(t, loop.Start())
		t.Cleanup(func() { _ = loop.Process.Kill(); _ = loop.Wait() })
	}
	dir := filepath.Join(t.TempDir(), "out")
	out := run(t, nil, "run", "--workload", "mutex", "--locks", "local,multiphase", "--scenarios", "baseline", "--duration", "1s", "--out", dir)
	if out.code != 4 {
		t.Errorf("exit code %d, want 4\n%s\n%s", out.code, out.stdout, out.stderr)
	}
	for _, r := range read(t, dir).Rows {
		if r.Verdict.Sound.Code != result.Saturated {
			t.Errorf("%s: %+v; want not sound, because the machine was saturated", r.Lock, r.Verdict)
		}
		if len(r.Hosts) != 1 || r.Hosts[0].Host != "" || r.Hosts[0].Busy < 0.5 {
			t.Errorf("%s: machines %+v; want the controller's, busy", r.Lock, r.Hosts)
		}
	}
}
