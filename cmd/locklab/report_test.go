package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testfile"
	"locklab/reports/result"
)

// twoRuns are directories with results of the names "before" and "after", the second with a
// warning and another kernel, below the working directory.
func twoRuns(t *testing.T) []string {
	t.Helper()
	file, err := result.Read("../../reports/sample/result.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	dirs := []string{"before", "after"}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file.Run.ID = dir
		if err := result.Write(filepath.Join(dir, result.FileName), file); err != nil {
			t.Fatal(err)
		}
		file.Run.Host.Kernel = "another"
		file.Run.Warnings, file.Run.Warned = append(file.Run.Warnings, strings.Repeat("something long that is to be known ", 9)), nil
	}
	return dirs
}

// TestComparisonSaysWhatItCameTo on the console: each thing once, in lines that fit, and where
// there is more.
func TestComparisonSaysWhatItCameTo(t *testing.T) {
	dirs := twoRuns(t)
	for tag, wanted := range map[string][]string{
		"en": {"after against before: ", "Not the same in these runs: kernel.", "figures compared.", "The runs have 1 warning, which the report has.", "report: "},
		"ko": {"before 대비 after: ", "이 실행들은 조건이 다르다: ", "실행에 경고가 1건 있다. 내용은 보고서에 있다.", "보고서: "},
	} {
		code, out, message := callWith(t.Context(), append([]string{"report", "--lang", tag}, dirs...)...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, message)
		}
		said := strings.Join(strings.Fields(out), " ")
		for _, want := range wanted {
			if strings.Count(said, want) != 1 {
				t.Errorf("%s: want %q once in\n%s", tag, want, out)
			}
		}
		if n := strings.Count(out, "\n"); n > 14 || strings.Contains(out, "something long") {
			t.Errorf("%s: the console has %d lines:\n%s", tag, n, out)
		}
	}
}

// TestComparisonsAreListed by what was compared, when, and what it came to, on the console and
// on the page; each has a directory of its own, however fast one follows the other.
func TestComparisonsAreListed(t *testing.T) {
	dirs := twoRuns(t)
	const times = 3
	for range times {
		if code, said := call(t, append([]string{"report"}, dirs...)...); code != exitOK {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	runs := filepath.Join("reports", "runs")
	found, err := filepath.Glob(filepath.Join(runs, "comparison-*", "index.html"))
	if err != nil || len(found) != times {
		t.Fatalf("want %d comparisons: %v %v", times, found, err)
	}
	info, err := os.Stat(found[0])
	if err != nil {
		t.Fatal(err)
	}
	day := info.ModTime().UTC().Format("2006-01-02 ")
	for tag, wanted := range map[string][]string{
		"en": {"after against before", "Not the same in these runs: kernel.", day},
		"ko": {"before 대비 after", "이 실행들은 조건이 다르다: ", day},
	} {
		_, console := call(t, "report", runs, "--lang", tag)
		page, err := listPage(tag, runs)
		if err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"console": strings.Join(strings.Fields(console), " "), "page": string(page)} {
			for _, want := range wanted {
				if n := strings.Count(text, want); n < times {
					t.Errorf("%s, %s: %q stands there %d times, want %d\n%s", tag, where, want, n, times, text)
				}
			}
		}
	}
}

// TestDirectoriesOfOneSecond are different ones.
func TestDirectoriesOfOneSecond(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "new")
	var names []string
	for range 3 {
		dir, err := freshDir(parent, "now")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(dir))
	}
	if want := []string{"now", "now-2", "now-3"}; !slices.Equal(names, want) {
		t.Errorf("have %v, want %v", names, want)
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

// TestNothingInCommon is said before all else, on the console and on the page, and is no success;
// a directory beside itself is not compared at all.
func TestNothingInCommon(t *testing.T) {
	dirs := twoRuns(t)
	file, err := result.Read(filepath.Join(dirs[1], result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Results {
		file.Results[i].Lock += ":other"
	}
	if err := result.Write(filepath.Join(dirs[1], result.FileName), file); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{
		"en": "Nothing in common: no row of before is in after.",
		"ko": "공통된 것이 없다: before의 행 가운데 after에도 있는 것이 없다.",
	} {
		code, out, message := callWith(t.Context(), "report", "--lang", tag, "--out", tag, dirs[0], dirs[1])
		if code != exitCannotRun || !strings.Contains(message, "nothing in common: no row of before is in after: want the same lock") {
			t.Errorf("%s: exit code %d: %s", tag, code, message)
		}
		if _, after, _ := strings.Cut(out, "\n"); !strings.HasPrefix(strings.TrimSpace(after), want) {
			t.Errorf("%s: want %q first in\n%s", tag, want, out)
		}
		page := string(testfile.Read(t, filepath.Join(tag, map[string]string{"en": "index.html", "ko": "index.ko.html"}[tag])))
		if at := strings.Index(page, want); at < 0 || at > strings.Index(page, "<main>") {
			t.Errorf("%s: the page does not begin with %q", tag, want)
		}
	}
	path := filepath.Join(dirs[0], result.FileName)
	if code, said := call(t, "report", path); code != exitCannotRun || !strings.Contains(said, "it is a file: want the directory of a run, such as "+dirs[0]) {
		t.Errorf("a file instead of a directory: code %d, said %s", code, said)
	}
	if code, said := call(t, "report", dirs[0], "./"+dirs[0]); code != exitCannotRun || !strings.Contains(said, "it is the same directory") {
		t.Errorf("a run beside itself: exit code %d: %s", code, said)
	}
}

// TestNothingToGoOnWith: a run that was interrupted before it left anything names no directory.
func TestNothingToGoOnWith(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for path, want := range map[string]string{dir: "logs are in " + dir, filepath.Join(dir, "gone"): "nothing to report, nor to go on with"} {
		if err := explainNoResult(ended, context.Canceled, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
