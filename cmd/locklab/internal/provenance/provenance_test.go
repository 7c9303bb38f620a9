package provenance_test

import (
	"runtime"
	"testing"

	"locklab/cmd/locklab/internal/provenance"
)

// A test's binary has no commit of its own.
func TestCommitIsPassedApart(t *testing.T) {
	const want = "0123456789abcdef0123456789abcdef01234567+dirty"
	t.Setenv("LOCKLAB_COMMIT", want)
	if got := provenance.Commit(t.Context()); got != want {
		t.Errorf("the commit is %q, want what LOCKLAB_COMMIT says, %q", got, want)
	}
}

func TestHostKnowsItself(t *testing.T) {
	h := provenance.Host()
	if h.OS != runtime.GOOS || h.CPUs != runtime.NumCPU() || h.Go == "" {
		t.Errorf("host facts are wrong: %+v", h)
	}
	if runtime.GOOS == "linux" && (h.Kernel == "" || h.MemoryMiB == 0) {
		t.Errorf("kernel or memory is missing: %+v", h)
	}
	if b := provenance.ReadBuild(); b.Go == "" || b.Commit == "" || b.Version == "" {
		t.Errorf("build facts are incomplete: %+v", b)
	}
}
