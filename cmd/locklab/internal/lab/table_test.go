package lab

import (
	"testing"

	"locklab/chaos/scenario"
	"locklab/reports/result"
)

// TestWhatARunGoesOnFrom: nothing of an earlier result is lost, whatever becomes of the run
// that goes on; what --fail-on made of it is taken back, and what was not whole is run again.
func TestWhatARunGoesOnFrom(t *testing.T) {
	row := func(lock string) result.Row {
		return result.Row{Lock: lock, Scenario: "baseline", Workload: "matchmaking", Verdict: result.Verdict{Status: result.StatusExpected, Why: "Fine."}}
	}
	failed, partial, gone := row("none"), row("local"), row("of another machine")
	failed.Verdict.KeepOwn()
	failed.Verdict.Status, failed.Verdict.Why, failed.Verdict.FailedOns = result.StatusViolated, "Crossed", []string{"x>0"}
	partial.Partial = true
	c := Config{Locks: bound(t, "none,local"), Scenarios: []scenario.Scenario{{Name: "baseline"}}, Dir: t.TempDir()}
	c.Workload.Name = "matchmaking"

	file := result.File{Schema: result.Schema}
	rows := newTable([]Config{c}, &file)
	rows.keep(result.File{Results: []result.Row{failed, partial, gone}})
	if len(file.Results) != 3 {
		t.Fatalf("%d rows are left of 3", len(file.Results))
	}
	if v := file.Results[0].Verdict; v.Status != result.StatusExpected || v.Why != "Fine." || v.FailedOns != nil || v.Own != nil {
		t.Errorf("the verdict is still that of --fail-on: %+v", v)
	}
	if !rows.done(keyOf(failed)) || rows.done(keyOf(partial)) {
		t.Error("want the whole row to be done, and the other one not")
	}
	whole := partial
	whole.Partial = false
	if err := rows.put(whole); err != nil || len(file.Results) != 3 || !rows.done(keyOf(partial)) {
		t.Errorf("the row that was run again: %v, %d rows", err, len(file.Results))
	}
}
