//go:build e2e

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// TestE2EHeadline is the comparison that a user starts first, in a third of the time.
func TestE2EHeadline(t *testing.T) {
	out, dir := compare(t, nil, 0, "--quick", "--seed", "1")
	file := read(t, dir)
	for _, scenario := range []string{"baseline", "zone-partition", "zone-failure"} {
		for lock, unsafe := range map[string]bool{"none": true, "redlock:ttl=1s": false, "raft:lease=1s": false, "multiphase": scenario == "zone-partition"} {
			if n := row(t, file, lock, scenario).Figures["duplicates"]; n > 0 != unsafe && (lock != "multiphase" || scenario != "zone-failure") {
				t.Errorf("%s under %s: %v duplicates; unsafe should be %v", lock, scenario, n, unsafe)
			}
		}
	}
	for lock, stops := range map[string]bool{"redlock:ttl=1s": true, "raft:lease=1s": true, "multiphase": false} {
		if r := row(t, file, lock, "zone-failure"); (r.Figures["outage_ms"] >= 1000) != stops {
			t.Errorf("%s under zone-failure: an outage of %v ms; a second should be %v", lock, r.Figures["outage_ms"], stops)
		}
	}
	for _, name := range []string{"index.html", "report.md", "results.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
	if !strings.Contains(out.stdout, filepath.Join(dir, "index.html")) {
		t.Errorf("the path of the report is not printed:\n%s", out.stdout)
	}
	nothingLeft(t)
	for _, lock := range []string{"none", "raft:lease=1s"} { // also of none, which had to fail
		r := row(t, file, lock, "baseline")
		if out := mustRun(t, 0, "check", filepath.Join(dir, r.History)); !strings.Contains(out.stdout, r.Verdict.Word) {
			t.Errorf("the report says %+v, check says:\n%s", r.Verdict, out.stdout)
		}
	}
}

// TestE2EFarRegions: where round trips are long, patience and limits are too, so that right locks
// serve everybody and are live under a fault.
func TestE2EFarRegions(t *testing.T) {
	_, dir := compare(t, nil, 0, "--topology", "aws-regions", "--rate", "4", "--scenarios", "sea-cable", "--locks", "raft", "--duration", "15s", "--seed", "3")
	for _, r := range read(t, dir).Rows {
		if r.Figures["served"] < 1 {
			t.Errorf("%s under %s: %.3f of the requests ended well", r.Lock, r.Scenario, r.Figures["served"])
		}
	}
	nothingLeft(t)
}

// TestE2EWithoutRedisServer: the stand-in works, and everybody is told. A threshold that one of two
// rows crosses is exit code 2, and no verdict.
func TestE2EWithoutRedisServer(t *testing.T) {
	bare := t.TempDir() // a PATH without redis-server
	out, dir := compare(t, []string{"PATH=" + bare}, 2, "--quick", "--locks", "none,redlock", "--scenarios", "baseline", "--fail-on", "duplicates>0")
	page := testfile.Read(t, filepath.Join(dir, "index.html"))
	for where, text := range map[string]string{"console": out.stderr, "report": string(page)} {
		if !strings.Contains(text, "stand-in") {
			t.Errorf("the %s does not say that a stand-in took the place of Redis", where)
		}
	}
	file := read(t, dir)
	for _, lock := range []string{"none", "redlock"} {
		if r := row(t, file, lock, "baseline"); r.Verdict.As != result.AsExpected && !wasBusy(r) {
			t.Errorf("%s is %+v", lock, r.Verdict)
		}
	}
	if want := "crossed --fail-on duplicates>0: none under baseline"; !strings.Contains(out.stdout, want) {
		t.Errorf("the console does not say %q:\n%s", want, out.stdout)
	}
}

// TestE2ECapacity: a run in which nothing is broken measures what the lock gives at most, in the
// result and on the console; with --capacity off, under a fault, or where a lock talks to nobody
// there is no such figure.
func TestE2ECapacity(t *testing.T) {
	t.Parallel()
	out, dir := compare(t, nil, 0, "--capacity", "on", "--locks", "local,multiphase", "--scenarios", "baseline,zone-latency", "--duration", "2s")
	file := read(t, dir)
	if r := row(t, file, "multiphase", "baseline"); r.Figures["grants_per_s"] <= r.Figures["handoffs_per_s"] || r.Figures["handoffs_per_s"] <= 0 || r.Figures["cpu_us_per_grant"] <= 0 {
		t.Errorf("%v", r.Figures)
	}
	if want := "grants/s"; !strings.Contains(out.stdout, want) {
		t.Errorf("the console does not say %q:\n%s", want, out.stdout)
	}
	for _, none := range [][2]string{{"local", "baseline"}, {"multiphase", "zone-latency"}} {
		if r := row(t, file, none[0], none[1]); r.Figures["grants_per_s"] != 0 {
			t.Errorf("%s has %v grants/s", none, r.Figures["grants_per_s"])
		}
	}
}

// TestE2EInterrupted: Ctrl-C half-way gives a report of what there is.
func TestE2EInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "run", "--locks", "none,raft", "--scenarios", "baseline", "--duration", "2s", "--out", dir)
	awaitStage(t, dir, 2, "measuring")
	lab.signal(t, os.Interrupt)
	lab.said.awaitLine(t, "finishing the report")
	lab.wants(t, 130)
	file := read(t, dir)
	if r := row(t, file, "none", "baseline"); !file.Run.Interrupted || r.Partial || r.MeasuredMS == 0 { // how much was served is the machine's
		t.Errorf("the report does not have what there was: %+v, %+v", file.Run, r)
	}
	if r := row(t, file, "raft", "baseline"); r.Decided() || !r.Partial {
		t.Errorf("the interrupted run is %+v", r.Verdict)
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "logs", "raft", "*", "raft-*.log")); len(logs) == 0 {
		t.Error("the logs of the servers are lost")
	}
	nothingLeft(t)
}

// TestE2EFailedStartLeavesNothing: no directory without a run in it, and no file of
// locklab's in a directory that was there before.
func TestE2EFailedStartLeavesNothing(t *testing.T) {
	t.Parallel()
	fails := []string{"run", "--locks", "none", "--agents", "http://127.0.0.1:1"}
	cmd := command(t, nil, binary, fails...)
	if out := finish(t, cmd); out.code != 1 {
		t.Fatalf("exit code %d\n%s", out.code, out.stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "reports", "runs", "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	there := t.TempDir()
	mustRun(t, 1, append(fails, "--out", there)...)
	if left, err := os.ReadDir(there); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestE2EFencedWrite: a holder stops for longer than its lease and then writes. The store
// refuses it by its token, and takes the write, and loses what it overwrites, where none is shown.
func TestE2EFencedWrite(t *testing.T) {
	const lock, tries = "raft:lease=500ms", 3 // a machine may be too busy for the pause to come in time
	for _, c := range []struct {
		fencing, seen string
		never         []string
	}{
		{"on", "fenced_writes", []string{"stale_writes", "lost_updates"}},
		{"off", "stale_writes", []string{"fenced_writes"}},
	} {
		seen := false
		for try := 0; try < tries && !seen; try++ {
			_, dir := compare(t, nil, 0, "--workload", "fenced-write", "--fencing", c.fencing, "--locks", lock, "--scenarios", "granted-pause", "--duration", "3s")
			counts := row(t, read(t, dir), lock, "granted-pause").Figures
			for _, name := range c.never {
				if n := counts[name]; n != 0 {
					t.Errorf("fencing %s: %v %s", c.fencing, n, name)
				}
			}
			seen = counts[c.seen] != 0
		}
		if !seen {
			t.Errorf("fencing %s: none of %s", c.fencing, c.seen)
		}
	}
	nothingLeft(t)
}
