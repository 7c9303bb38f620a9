//go:build e2e

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"locklab/internal/testfile"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// builtToxiproxyCLI installs it next to the program under test, for all tests.
var builtToxiproxyCLI = sync.OnceValues(func() (string, error) {
	build := exec.Command("go", "install", "github.com/Shopify/toxiproxy/v2/cmd/cli@v2.12.0")
	build.Env = append(os.Environ(), "GOBIN="+filepath.Dir(binary), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(filepath.Dir(binary), "cli"), nil
})

// toxiproxyCLI is the released client of toxiproxy. Call it before t.Parallel: it compiles,
// which would slow down what is timed.
func toxiproxyCLI(t *testing.T) string {
	t.Helper()
	cli, err := builtToxiproxyCLI()
	if err != nil {
		t.Fatalf("build toxiproxy-cli: %v", err)
	}
	return cli
}

// apiOf waits for the address at which a program serves toxiproxy's API.
func apiOf(t *testing.T, p *program) string {
	t.Helper()
	p.said.awaitLine(t, "toxiproxy's API on")
	return regexp.MustCompile(`--host (\S+) list`).FindStringSubmatch(p.said.String())[1]
}

// TestE2EToxiproxyCLI: what its users know works on a lab that runs, and a run that somebody
// laid hands on says so and decides nothing.
func TestE2EToxiproxyCLI(t *testing.T) {
	cli := toxiproxyCLI(t)
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "run", "--locks", "redis", "--workload", "mutex", "--scenarios", "baseline", "--duration", "2m",
		"--toxiproxy-api", "127.0.0.1:0", "--out", out)
	host := apiOf(t, lab)
	wants := func(code int, want string, args ...string) {
		t.Helper()
		got := finish(t, command(t, nil, cli, append([]string{"--host", host}, args...)...))
		if got.code != code || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("toxiproxy-cli %q: exit code %d, want %d and %q\n%s%s", args, got.code, code, want, got.stdout, got.stderr)
		}
	}
	awaitStage(t, out, 1, "measuring")
	const link = "master-a:redis-a-1:redis"
	wants(0, link, "list")
	wants(0, "Added downstream latency toxic 'slow'", "toxic", "add", "-t", "latency", "-a", "latency=20", "-n", "slow", link)
	wants(0, "Added upstream locklab-hold toxic 'locklab-hold_upstream'", "toxic", "add", "-t", "locklab-hold", "-u", link)
	wants(0, "latency=20", "inspect", link)
	wants(0, "Updated toxic 'slow'", "toxic", "update", "-n", "slow", "-a", "latency=30", link)
	wants(0, "latency=30", "inspect", link)
	wants(0, "Removed toxic 'slow'", "toxic", "remove", "-n", "slow", link)
	wants(1, "toxic not found", "toxic", "remove", "-n", "slow", link)
	wants(0, "Added upstream latency toxic 'typo'", "toxic", "add", "-t", "latency", "-u", "-a", "latncy=1", "-n", "typo", link) // which toxiproxy takes
	wants(0, "Removed toxic 'typo'", "toxic", "remove", "-n", "typo", link)
	wants(1, "invalid toxic type", "toxic", "add", "-t", "nonsense", link)
	wants(0, "is now disabled", "toggle", link)
	wants(0, "is now enabled", "toggle", link)
	wants(1, "proxy not found", "inspect", "master-a:nobody:redis")
	wants(1, "want toxics, or enabled", "delete", link)
	lab.signal(t, os.Interrupt)
	lab.wants(t, 130)

	r := row(t, read(t, out), "redis", "baseline")
	if !blames(r, result.ByHand) {
		t.Errorf("%+v", r.Verdict)
	}
	if r.Faults = slices.DeleteFunc(r.Faults, func(f result.Fault) bool { return f.Kind != history.FaultByHand }); len(r.Faults) != 5 {
		t.Errorf("the ledger has %+v, want the update and the four others that were done by hand", r.Faults)
	}
	if page := testfile.Read(t, filepath.Join(out, "index.html")); !strings.Contains(string(page), "link master-a to redis-a-1/redis (locklab-hold, up)") {
		t.Error("the report does not show what was done by hand")
	}
	nothingLeft(t)
}
