package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/workloads/result"
)

// TestWhyFindsTheCell in the latest report that has it. The name of a lock stands for the one of that name with options.
func TestWhyFindsTheCell(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, r := range []struct{ dir, locks string }{
		{"old", "raft redis"},
		{"levels/nested", "redis"},
		{"new", "raft:lease=1s redlock:ttl=1s redlock:retry=fixed"},
		{"begun", ""},
	} {
		f := result.File{Run: result.Run{Started: time.Unix(int64(i), 0)}}
		for lock := range strings.FieldsSeq(r.locks) {
			row := measured(1).Rows[0]
			row.Lock, row.Workload = lock, filepath.Base(r.dir) // to tell which
			f.Rows = append(f.Rows, row)
		}
		leave(t, filepath.Join("reports", "runs", r.dir, result.FileName), f)
	}
	for typed, want := range map[string]string{
		"raft baseline":                           "raft:lease=1s under baseline, new",
		"raft baseline --workload old":            "raft under baseline, old",
		"raft baseline --report reports/runs/old": "raft under baseline, old",
		"redis baseline":                          "redis under baseline, nested",
		"redlock:ttl=1s baseline":                 "redlock:ttl=1s under baseline, new",
		"redlock baseline":                        "new has several of redlock under baseline: want one of redlock:ttl=1s, redlock:retry=fixed",
		"reddis baseline":                         "no report below reports/runs has reddis under baseline: want a lock and a scenario that were run, or another --report; did you mean redis baseline?",
		"raft baseline --report nowhere":          "no report below nowhere has raft",
	} {
		if _, said := call(t, append([]string{"why"}, strings.Fields(typed)...)...); !strings.Contains(said, want) {
			t.Errorf("%s: it does not say %q:\n%s", typed, want, said)
		}
	}
}
