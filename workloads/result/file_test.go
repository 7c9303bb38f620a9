package result_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/workloads/result"
)

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), result.FileName)
	want := result.File{Schema: result.Schema, Run: result.Run{ID: "a", Seed: 1, Repeats: 1}, Rows: []result.Row{{
		Lock: "none", Scenario: "baseline", Workload: "mutex", Repeat: 1,
		Verdict: result.Verdict{Sound: result.Statement{State: result.OK}, As: result.AsExpected}, Figures: map[string]float64{"overlaps": 2},
	}}}
	if err := result.Write(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Rows[0], got.Rows[0]); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{`{"schema": "locklab/result/v1", "results": 3}`, `[]`, ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := result.Read(path); !errors.Is(err, result.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
