//go:build e2e

package main_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestE2EBadInput: a mistake ends with exit 1 and one clear line. What the line says of each is
// for the tests of who reads it.
func TestE2EBadInput(t *testing.T) {
	t.Parallel()
	wrongField := write(t, "wrong-field.yaml", "name: x\nsummary: y\ntimeline:\n  - at: 10%\n    for: 10%\n    fault: partition\n    betwixt: [zone:a, zone:c]\n")
	wrongTopology := write(t, "wrong-topology.yaml", "name: x\nzones: [{name: z, short: a}]\nlatency:\n  inside: {rtt: 1ms}\n  amid: {rtt: 1ms}\nhosts: []\n")
	noValue := write(t, "no-value.yaml", "name: x\nhosts: !x")
	file := write(t, "file", "")
	tests := []struct {
		args []string
		want []string // in the message
	}{
		{[]string{"run", "--locks", "redlock:ttl=soon"}, []string{"ttl=soon", "duration"}},
		{[]string{"run", "--locks", "all,raft"}, []string{"--locks: all stands for every one", "alone"}},
		{[]string{"run", "--scenarios", wrongField}, []string{wrongField, "7", "betwixt"}},
		{[]string{"run", "--topology", wrongTopology}, []string{wrongTopology, "5", "amid"}},
		{[]string{"run", "--topology", noValue}, []string{noValue + ":2: tags such as !x are not supported"}},
		{[]string{"run", "--rate", "0"}, []string{"--rate", "above 0"}},
		{[]string{"run", "--seed", "lucky"}, []string{"--seed", `"lucky"`}},
		{[]string{"run", "--duration", "1ms"}, []string{"--duration", "1s"}},
		{[]string{"run", "--out", filepath.Join(file, "below")}, []string{"--out", "file"}},
		{[]string{"run", "--junit", t.TempDir()}, []string{"--junit", "directory"}},
		{[]string{"run", "--token-file", "/does/not/exist"}, []string{"--token-file"}},
		{[]string{"run", "everything"}, []string{"everything"}},
		{[]string{"list", "planets"}, []string{"planets"}},
		{[]string{"report", t.TempDir()}, []string{"result.json"}},
		{[]string{"check", "/does/not/exist"}, []string{"/does/not/exist"}},
		{[]string{"run", "--locks", "none", "--toxiproxy-api", ":0"}, []string{"this is not the loopback"}},
		{[]string{"agent"}, []string{"--host"}},
		{[]string{"agent", "--host", "h", "--listen", "0.0.0.0:0"}, []string{"token"}},
		{[]string{"dance"}, []string{"dance"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			out := mustRun(t, 1, tt.args...)
			lines := strings.Count(strings.TrimSpace(out.stderr), "\n") + 1
			if lines > 6 || strings.Contains(out.stderr, "goroutine ") {
				t.Errorf("not a short message:\n%s", out.stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.stderr, want) {
					t.Errorf("the message does not have %q:\n%s", want, out.stderr)
				}
			}
		})
	}
}

// TestE2ELists: each list has lines for people and JSON for scripts.
func TestE2ELists(t *testing.T) {
	t.Parallel()
	for what, has := range map[string]string{
		"locks": "multiphase", "scenarios": "zone-partition", "workloads": "mutex",
		"topologies": "seoul-3az", "faults": "partition",
	} {
		if out := mustRun(t, 0, "list", what); !strings.Contains(out.stdout, has) {
			t.Errorf("list %s does not have %s:\n%s", what, has, out.stdout)
		}
		var values []struct {
			Name    string `json:"name"`
			Summary string `json:"summary"`
		}
		out := mustRun(t, 0, "list", what, "--json")
		if err := json.Unmarshal([]byte(out.stdout), &values); err != nil || len(values) == 0 || values[0].Name == "" || values[0].Summary == "" {
			t.Errorf("list %s --json: %v: %s", what, err, out.stdout)
		}
	}
	if out := mustRun(t, 0, "version"); !strings.HasPrefix(out.stdout, "locklab ") {
		t.Errorf("version says %q", out.stdout)
	}
}

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
		if out.code != 1 || !strings.Contains(out.stderr, "may open "+limit+" files here, and the lab needs up to ") {
			t.Errorf("with %s: exit code %d\n%s", limit, out.code, out.stderr)
		}
	}
}
