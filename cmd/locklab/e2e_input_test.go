//go:build e2e

package main_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestE2EAgents: agents that are processes of their own, as in containers and on instances, refuse another token, one
// that cannot be reached is named, and they end as they are asked to.
func TestE2EAgents(t *testing.T) {
	t.Parallel()
	hosts, text := startAway(t, "master-a", "worker-c")
	for _, c := range []struct{ token, topology, want string }{
		{"wrong", text, "refuses the token"},
		{secret, strings.Replace(text, "http://127.0.0.1:", "http://127.0.0.2:", 1), "cannot be reached"},
	} {
		out := run(t, []string{"LOCKLAB_TOKEN=" + c.token}, "run", "--topology", write(t, "agents.yaml", c.topology), "--quick", "--locks", "none",
			"--scenarios", "baseline", "--out", filepath.Join(t.TempDir(), "out"))
		if out.code != 1 || !strings.Contains(out.stderr, c.want) || strings.Contains(out.stderr, secret) {
			t.Errorf("exit code %d, want 1 and %q, without a token: %s", out.code, c.want, out.stderr)
		}
	}
	for _, h := range hosts {
		h.signal(t, syscall.SIGTERM)
		h.wants(t, 0)
	}
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
