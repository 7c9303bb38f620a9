//go:build e2e

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/locks/locktest"
)

// TestE2ELibraries: a library of each language keeps the protocol, and is compared by its name.
func TestE2ELibraries(t *testing.T) {
	t.Parallel()
	home := t.TempDir() // where programs in Go are looked for, and sources are unpacked
	t.Cleanup(func() {  // after the parallel parts
		locktest.Eventually(t, "no program of a library lives", func() bool {
			return exec.Command("pgrep", "-f", home).Run() != nil
		})
	})
	without := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "locklab-redislock"))
		return err == nil
	})
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "PATH=" + strings.Join(without, string(filepath.ListSeparator))}
	if got := run(t, env, "run", "--locks", "redislock"); got.code != 1 ||
		!strings.Contains(got.stderr, "the library of redislock is not installed here: go -C locks/adapters/go install ./...") {
		t.Fatalf("a library that is not there: exit code %d\n%s", got.code, got.stderr)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(home, "go", "bin", "locklab-redislock"), "./locklab-redislock")
	build.Dir, build.Env = "../../locks/adapters/go", append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, library := range []string{"redis-py-timeout", "curator-listener", "symfony-redis-ttl", "redislock"} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			if got := run(t, env, "conform", library); got.code != 0 || !strings.Contains(got.stdout, "✓ cut-off") {
				t.Errorf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
			}
		})
	}
	t.Run("compared", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "out")
		got := run(t, env, "run", "--workload", "mutex", "--locks", "redis-py,pymysql", "--scenarios", "baseline", "--duration", "1s",
			"--capacity", "off", "--out", out)
		if got.code != 0 && got.code != 4 { // the machine is too busy
			t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
		}
		for _, lock := range []string{"redis-py", "pymysql"} {
			if r := row(t, read(t, out), lock, "baseline"); r.Figures["achieved_per_s"] == 0 || r.Figures["overlaps"] != 0 {
				t.Errorf("%s: %v, %+v", lock, r.Figures, r.Verdict)
			}
		}
	})
}
