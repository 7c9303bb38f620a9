//go:build e2e

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/result"
)

// TestE2ESuiteGoesOn: a suite whose controller dies without a chance to clean up leaves no process, and can be
// reported. It goes on where it was, with the flags of then, and runs nothing twice; the claims are decided by
// the rows of both.
func TestE2ESuiteGoesOn(t *testing.T) {
	t.Parallel()
	file := write(t, "mine.yaml", `name: mine
parts:
  - {workload: matchmaking, locks: "none,local", scenarios: "baseline,leader-kill", duration: 4s, warmup: 200ms}
  - {workload: mutex, locks: none, scenarios: baseline, duration: 3s, warmup: 200ms}
claims:
  - claim: Without a lock there are overlaps.
    source: everybody
    cells: [{lock: none, scenario: baseline, workload: mutex, shows: unsafe}]
`)
	dir := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "run", "--suite", file, "--seed", "4", "--out", dir)
	awaitStage(t, dir, 2, "measuring")
	if len(processes(t)) < 5 {
		t.Fatalf("there should be masters and workers: %q", processes(t))
	}
	lab.signal(t, os.Kill)
	lab.wants(t, -1)
	before := read(t, dir)
	if len(before.Rows) != 1 || !before.Run.Unfinished {
		t.Fatalf("%d rows, unfinished %v; want the first row of a run that was killed", len(before.Rows), before.Run.Unfinished)
	}
	nothingLeft(t)
	reported := filepath.Join(t.TempDir(), "reported")
	must.Do(t, os.CopyFS(reported, os.DirFS(dir)))
	mustRun(t, 0, "report", reported)
	if r := row(t, read(t, reported), "local", "baseline"); r.Decided() || !r.Partial || r.History == "" {
		t.Errorf("the run that was killed is %+v, %q", r.Verdict, r.History)
	}

	out := run(t, nil, "run", "--resume", dir)
	after := read(t, dir)
	if len(after.Rows) != 3 || after.Run.Unfinished || after.Run.Seed != 4 {
		t.Fatalf("exit code %d: %d rows, unfinished %v, seed %d\n%s", out.code, len(after.Rows), after.Run.Unfinished, after.Run.Seed, out.stderr)
	}
	if first := row(t, after, "none", "baseline"); first.Figures["achieved_per_s"] != before.Rows[0].Figures["achieved_per_s"] {
		t.Errorf("the first row was run again: %v operations per second, before %v", first.Figures["achieved_per_s"], before.Rows[0].Figures["achieved_per_s"])
	}
	if !strings.Contains(out.stderr, "2 runs") {
		t.Errorf("it is not said that two runs are left:\n%s", out.stderr)
	}
	if unfit := after.Run.Unfit; len(unfit) != 2 || unfit[0].Scenario != "leader-kill" {
		t.Errorf("left out: %+v; want leader-kill of both locks, which have no leader", unfit)
	}
	if len(after.Run.Claims) != 1 {
		t.Fatalf("claims: %+v", after.Run.Claims)
	}
	i := slices.IndexFunc(after.Rows, func(r result.Row) bool { return r.Workload == "mutex" })
	want := result.ClaimShown
	if !after.Rows[i].Decided() { // the machine
		want = result.ClaimUndecided
	}
	if claim := after.Run.Claims[0]; claim.Verdict != want || !strings.Contains(out.stdout, "Without a lock there are overlaps.") {
		t.Errorf("%+v, want %s\n%s", claim, want, out.stdout)
	}
	if ended := run(t, nil, "run", "--resume", dir); ended.code != 1 || !strings.Contains(ended.stderr, "it has come to its end") {
		t.Errorf("resumed at its end: exit code %d, %s", ended.code, ended.stderr)
	}

	// A row whose verdict somebody wants to seek again: as if the machine had been busy.
	after.Rows[i].Verdict.Sound = result.Statement{State: result.Failed, Code: result.Saturated}
	after.Run.Commit = "another"
	must.Do(t, result.Write(filepath.Join(dir, result.FileName), after))
	busy := 0
	for _, r := range after.Rows {
		if !r.Decided() {
			busy++
		}
	}
	redone := run(t, nil, "run", "--resume", dir, "--redo", "inconclusive")
	last := read(t, dir)
	if !strings.Contains(redone.stderr, fmt.Sprintf("[%d/%d]", busy, busy)) || len(last.Rows) != 3 || last.Rows[i].Figures["achieved_per_s"] == after.Rows[i].Figures["achieved_per_s"] {
		t.Errorf("want %d rows measured again: exit code %d, %s", busy, redone.code, redone.stderr)
	}
	if kept := fmt.Sprintf("%d rows were measured before the run was resumed: by commit another", 3-busy); busy < 3 &&
		!slices.ContainsFunc(last.Run.Warnings, func(w string) bool { return strings.HasPrefix(w, kept) }) {
		t.Errorf("it is not said that %d rows are another program's: %q", 3-busy, last.Run.Warnings)
	}
}
