package facts_test

import (
	"runtime"
	"testing"

	"locklab/cmd/locklab/internal/facts"
)

func TestHostKnowsItself(t *testing.T) {
	h := facts.Host()
	if h.OS != runtime.GOOS || h.CPUs != runtime.NumCPU() || h.Go == "" {
		t.Errorf("host facts are wrong: %+v", h)
	}
	if runtime.GOOS == "linux" && (h.Kernel == "" || h.MemoryMiB == 0) {
		t.Errorf("kernel or memory is missing: %+v", h)
	}
	if b := facts.ReadBuild(); b.Go == "" || b.Commit == "" || b.Version == "" {
		t.Errorf("build facts are incomplete: %+v", b)
	}
}
