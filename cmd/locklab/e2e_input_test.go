//go:build e2e

package main_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestE2EAgents runs each host's agent as a process of its own, as in containers
// and on instances, and points the controller at them.
func TestE2EAgents(t *testing.T) {
	hosts, text := startAway(t, twoZones()...)
	t.Cleanup(func() { // before they are killed
		for _, h := range hosts {
			h.signal(t, syscall.SIGTERM)
			h.wants(t, 0)
		}
	})
	topology := write(t, "agents.yaml", text)
	base := []string{"run", "--topology", topology, "--quick", "--locks", "none,multiphase", "--scenarios", "baseline"}

	t.Run("runs", func(t *testing.T) {
		_, dir := compare(t, bearer, 0, base[1:]...)
		file := read(t, dir)
		if n := row(t, file, "multiphase", "baseline").Figures["duplicates"]; n != 0 {
			t.Errorf("multiphase made %v duplicates", n)
		}
		if n := row(t, file, "none", "baseline").Figures["duplicates"]; n == 0 {
			t.Error("none made no duplicates")
		}
	})
	t.Run("wrong token", func(t *testing.T) {
		out := run(t, []string{"LOCKLAB_TOKEN=wrong"}, append(base, "--out", filepath.Join(t.TempDir(), "out"))...)
		if out.code != 1 || !strings.Contains(out.stderr, "refuses the token") {
			t.Errorf("exit code %d: %s", out.code, out.stderr)
		}
		if strings.Contains(out.stderr, secret) {
			t.Error("the token was printed")
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		away := write(t, "away.yaml", strings.Replace(text, "http://127.0.0.1:", "http://127.0.0.2:", 1))
		out := run(t, bearer, "run", "--topology", away, "--quick", "--locks", "none", "--scenarios", "baseline", "--out", filepath.Join(t.TempDir(), "out"))
		if out.code != 1 || !strings.Contains(out.stderr, "cannot be reached") {
			t.Errorf("exit code %d: %s", out.code, out.stderr)
		}
	})
}

// TestE2EFewFiles: too few file descriptors are an error that says how many there must
// be, and not a run that hangs.
func TestE2EFewFiles(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"48", "512"} {
		out := finish(t, command(t, nil, "sh", "-c", "ulimit -n "+limit+"; exec "+binary+" run --quick"))
		if out.code != 1 || !strings.Contains(out.stderr, "may open "+limit+" files here, and the lab needs ") {
			t.Errorf("with %s: exit code %d\n%s", limit, out.code, out.stderr)
		}
	}
}
