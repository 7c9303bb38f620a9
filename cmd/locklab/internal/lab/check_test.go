package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/workloads/history"
)

// TestExpectationsThatCannotBeJudgedBy: a misspelt one would accept anything.
func TestExpectationsThatCannotBeJudgedBy(t *testing.T) {
	for want, e := range map[string]history.Expect{
		`run.expect.safety "saef": want safe or unsafe`: {Safety: "saef"},
		`run.expect.liveness "foo": want live`:          {Liveness: []string{"live", "foo"}},
		`run.expect.availability 1e+300`:                {Availability: history.Availability{During: 1e300}},
	} {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		line := history.AppendJSON(nil, &history.Event{Kind: history.KindRun, AtNS: 1, Run: &history.Run{
			Schema: history.Schema, Lock: "raft", Scenario: "baseline", Workload: Mutex, DurationNS: 1e9, Expect: &e,
		}})
		if err := os.WriteFile(path, append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Check(t.Context(), path); err == nil || !strings.Contains(err.Error(), path+":1: "+want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}
