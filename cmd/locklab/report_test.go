package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// twoRuns are directories with results of the names "before" and "after", the second with another
// system, below the working directory.
func twoRuns(t *testing.T) []string {
	t.Helper()
	t.Chdir(t.TempDir())
	file := measured(10, 11)
	dirs := []string{"before", "after"}
	for _, dir := range dirs {
		must.Do(t, os.Mkdir(dir, 0o700))
		file.Run.ID = dir
		must.Do(t, result.Write(filepath.Join(dir, result.FileName), file))
		file.Run.Host.OS = "another"
	}
	return dirs
}

// TestComparisonsAreListed on the page; each has a directory of its own, however fast one follows the other.
func TestComparisonsAreListed(t *testing.T) {
	dirs := twoRuns(t)
	const times = 3
	for range times {
		code, out, message := callWith(t.Context(), append([]string{"report"}, dirs...)...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, message)
		}
		if !strings.Contains(out, "after: machine was ") || !strings.Contains(out, "report: ") {
			t.Errorf("it says\n%s", out)
		}
	}
	runs := filepath.Join("reports", "runs")
	found, err := filepath.Glob(filepath.Join(runs, "comparison-*", "index.html"))
	if err != nil || len(found) != times {
		t.Fatalf("want %d comparisons: %v %v", times, found, err)
	}
	for tag, want := range map[string]string{"en": "runs against each other", "ko": "실행끼리 비교"} {
		page, err := listPage(tag, runs)
		must.Do(t, err)
		if n := strings.Count(string(page), want); n < times {
			t.Errorf("%s: %q stands there %d times, want %d\n%s", tag, want, n, times, page)
		}
	}
}

// TestFailedComparisonLeavesNothing: no directory is left in which there is no report.
func TestFailedComparisonLeavesNothing(t *testing.T) {
	dirs := twoRuns(t)
	if code, _ := call(t, "report", dirs[0], "missing"); code != exitCannotRun {
		t.Errorf("exit code %d", code)
	}
	if left, err := filepath.Glob(filepath.Join("reports", "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestNothingInCommon is no success.
func TestNothingInCommon(t *testing.T) {
	dirs := twoRuns(t)
	other := measured(10)
	other.Rows[0].Lock += ":other"
	must.Do(t, result.Write(filepath.Join(dirs[1], result.FileName), other))
	code, said := call(t, "report", "--out", "out", dirs[0], dirs[1])
	if code != exitCannotRun || !strings.Contains(said, "nothing in common: no row of before is in after: want the same lock") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestAReportIsNotWrittenOver: neither by a comparison nor by that of another run.
func TestAReportIsNotWrittenOver(t *testing.T) {
	dirs := twoRuns(t)
	for _, args := range [][]string{{"report", dirs[0], dirs[1], "--out", dirs[0]}, {"report", dirs[0], dirs[1], "--out", dirs[1]}, {"report", dirs[0], "--out", dirs[1]}} {
		if code, said := call(t, args...); code != exitCannotRun || !strings.Contains(said, "would be written over") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
	if code, said := call(t, "report", dirs[0], "--out", dirs[0]); code != exitOK {
		t.Errorf("into its own directory: exit code %d: %s", code, said)
	}
	if page := testfile.Read(t, filepath.Join(dirs[0], "index.html")); !strings.Contains(string(page), "redlock") {
		t.Error("the page does not name the lock")
	}
}
