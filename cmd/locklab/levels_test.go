package main

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// TestLevelsKeepRunsOfOtherFlags: a run of the directory that was made with other flags is refused, and stays.
func TestLevelsKeepRunsOfOtherFlags(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none", "crowd", result.FileName)
	file := result.File{Schema: result.Schema, Run: result.Run{Args: strings.Fields("run --locks none --repeat 2")}}
	testfile.Write(t, path, "")
	if err := result.Write(path, file); err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []string{"0", "1"} {
		code, said := call(t, "levels", "none", "--jobs", jobs, "--out", dir)
		if code != exitCannotRun || !strings.Contains(said, filepath.Dir(path)+" has a run with other flags than --locks none") {
			t.Errorf("--jobs %s: exit code %d: %s", jobs, code, said)
		}
	}
	if _, err := result.Read(path); err != nil {
		t.Error(err)
	}
}
