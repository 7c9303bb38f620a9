package result_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/result"
)

func file() result.File {
	ok := result.Statement{State: result.OK}
	return result.File{Schema: result.Schema, Run: result.Run{ID: "r1", Started: time.Unix(1e9, 0).UTC(), Seed: 7, Repeats: 1, Versions: map[string]string{"locklab": "x"}}, Rows: []result.Row{{
		Lock: "raft", Scenario: "baseline", Workload: "matchmaking", Repeat: 1,
		History:    "histories/raft/baseline.matchmaking.1.jsonl",
		Verdict:    result.Verdict{Sound: ok, Safety: result.Statement{State: result.Failed, Code: result.Duplicates, N: 3}, Liveness: ok, Word: result.Live, As: result.NotAsExpected},
		Figures:    map[string]float64{"duplicates": 3, "served": 0.98},
		Violations: []result.Violation{{Code: result.Duplicates, AtMS: 812.5, Resource: "seoul", First: result.Party{ToMS: result.Never}}},
	}}}
}

func TestWriteThenReadGivesTheSame(t *testing.T) {
	want, dir := file(), t.TempDir()
	must.Do(t, result.Write(filepath.Join(dir, result.FileName), want))
	for _, path := range []string{dir, filepath.Join(dir, result.FileName)} {
		have, err := result.Read(path)
		must.Do(t, err)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}

func TestBadFilesAreExplained(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, result.Write(filepath.Join(dir, result.FileName), file()))
	good := testfile.Read(t, filepath.Join(dir, result.FileName))
	for _, tc := range []struct {
		old, new, want string
	}{
		{result.Schema, "locklab/result/v1", "run it again"},
		{`"repeats": 1`, `"repeats": "one"`, `line 11: field "run.repeats": have string, want int`},
		{`"lock": "raft"`, `"lock": ""`, "results[0]: want a lock"},
		{`"history": "`, `"history": "../../`, "want a path below"},
		{`"duplicates": 3`, `"duplicates": -3`, "figures.duplicates: have -3"},
		{`"duplicates": 3`, `"duplicates": 1e999`, "figures.duplicates"},
		{`"not as expected"`, `"fine"`, `verdict.as "fine"`},
	} {
		bad := strings.Replace(string(good), tc.old, tc.new, 1)
		if bad == string(good) {
			t.Fatalf("the file has no %s:\n%s", tc.old, good)
		}
		if _, err := result.Parse([]byte(bad)); !errors.Is(err, result.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.new, err, tc.want)
		}
	}
	if _, err := result.Read(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
}

// FuzzParse: no file makes the reader panic, and what it takes can be written and read again.
func FuzzParse(f *testing.F) {
	dir := f.TempDir()
	must.Do(f, result.Write(filepath.Join(dir, result.FileName), file()))
	good := testfile.Read(f, filepath.Join(dir, result.FileName))
	f.Add(good)
	f.Add([]byte(`{"schema":"locklab/result/v2","results":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		have, err := result.Parse(data)
		if err != nil {
			return
		}
		for _, c := range have.Cells() {
			c.Worst()
		}
		dir := t.TempDir()
		must.Do(t, result.Write(filepath.Join(dir, result.FileName), have))
		if _, err := result.Read(dir); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMisspeltFigures: a figure that no list has cannot be asked for in silence.
func TestMisspeltFigures(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("servd is no figure")
		}
	}()
	(&result.Row{}).Of("servd")
}
