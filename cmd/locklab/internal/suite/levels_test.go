package suite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/cmd/locklab/internal/suite"
	"locklab/workloads/result"
)

// TestLevels: an anomaly is shown by any run, not shown in so many tries, or undecided where its
// control is silent.
func TestLevels(t *testing.T) {
	s, err := suite.Parse("f.yaml", []byte(`name: mine
parts: [{locks: "none,redis", scenarios: baseline}]
anomalies:
  - {letter: A, name: two at once, control: none, cells: [{scenario: baseline, workload: mutex, shows: unsafe}]}
  - {letter: B, name: split, control: redis, cells: [{scenario: zone-partition, workload: mutex, shows: unsafe}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	made := map[result.Key]bool{{Lock: "none", Scenario: "baseline", Workload: "mutex"}: true}
	if err := s.CheckCells(made); err == nil || !strings.Contains(err.Error(), "f.yaml:5: anomalies: no part runs zone-partition") {
		t.Errorf("an anomaly that no part provokes: %v", err)
	}
	row := func(lock, scenario string, repeat int, safety, sound result.State) result.Row {
		return result.Row{Lock: lock, Scenario: scenario, Workload: "mutex", Repeat: repeat, Verdict: result.Verdict{
			Sound: result.Statement{State: sound}, Safety: result.Statement{State: safety},
		}}
	}
	f := result.File{Rows: []result.Row{
		row("none", "baseline", 1, result.OK, result.OK), row("none", "baseline", 2, result.Failed, result.OK),
		row("redis", "baseline", 1, result.OK, result.OK), row("redis", "baseline", 2, result.OK, result.OK),
		row("redis", "baseline", 3, result.Failed, result.Failed), // not sound: it says nothing
		row("redis", "zone-partition", 1, result.OK, result.OK),
	}}
	var have []string
	for _, lock := range []string{"none", "redis"} {
		var glyphs []string
		for _, l := range suite.Levels(s.Anomalies, f, lock) {
			glyphs = append(glyphs, l.String())
		}
		have = append(have, strings.Join(glyphs, " "))
	}
	if diff := cmp.Diff([]string{"✗ ·", "✓ 2 ?"}, have); diff != "" {
		t.Error(diff)
	}
}
