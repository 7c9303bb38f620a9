package lab

import (
	"path/filepath"
	"slices"
	"testing"

	"locklab/chaos/scenario"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// TestWhatARunGoesOnFrom: nothing of an earlier result is lost, and a row that was cut short is run
// again. What it saw of a lock that is expected to be safe stays on record.
func TestWhatARunGoesOnFrom(t *testing.T) {
	sound := result.Statement{State: result.OK}
	verdict := result.Verdict{Sound: sound, Safety: sound, Liveness: sound, Word: result.Live, As: result.AsExpected}
	row := func(lock string, repeat int) result.Row {
		return result.Row{Lock: lock, Scenario: "baseline", Workload: "matchmaking", Repeat: repeat, Expected: result.Expected{Safety: result.Safe}, Verdict: verdict}
	}
	whole, partial, gone := row("none", 1), row("none", 2), row("of another machine", 1)
	partial.Partial = true
	partial.Verdict.Safety = result.Statement{State: result.Failed, Code: result.Duplicates, N: 3}
	c := Config{Locks: bound(t, "local,none"), Scenarios: []scenario.Scenario{{Name: "baseline"}}, Dir: t.TempDir(), Repeat: 2}
	c.Workload.Name = "matchmaking"
	file := result.File{Schema: result.Schema}
	rows := newResults([]Config{c}, &file, &result.File{Rows: []result.Row{partial, gone, whole}})
	if !rows.done(whole.Key(), 1) || rows.done(whole.Key(), 2) || len(file.Rows) != 3 {
		t.Errorf("want the whole row to be done, and the other one not: %+v", file.Rows)
	}
	if err := rows.drop(partial.Key(), 2); err != nil || len(file.Rows) != 2 {
		t.Errorf("%d rows: %v", len(file.Rows), err)
	}
	if want := []string{"none under baseline: an earlier try that decided nothing showed 3 duplicates"}; !slices.Equal(file.Run.Warnings, want) {
		t.Errorf("warned of %q", file.Run.Warnings)
	}
	if err := rows.put(row("none", 2)); err != nil || !rows.done(partial.Key(), 2) {
		t.Errorf("the row that was run again: %v", err)
	}
	must.Do(t, rows.put(row("local", 1)))
	var order []string
	for _, r := range file.Rows {
		order = append(order, r.Lock)
	}
	if want := []string{"local", "none", "none", "of another machine"}; !slices.Equal(order, want) {
		t.Errorf("the rows are of %q, want %q", order, want)
	}
	read, err := result.Read(filepath.Join(c.Dir, result.FileName))
	if err != nil || len(read.Rows) != 4 {
		t.Errorf("%d rows on disk: %v", len(read.Rows), err)
	}
}

// TestSetAside: no history is overwritten.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "baseline.mutex.2.jsonl")
	must.Do(t, setAside(path)) // there is none
	for _, text := range []string{"first", "second"} {
		testfile.Write(t, path, text)
		must.Do(t, setAside(path))
	}
	first, second := testfile.Read(t, path+".aside-1"), testfile.Read(t, path+".aside-2")
	if string(first) != "first" || string(second) != "second" {
		t.Errorf("kept %q and %q", first, second)
	}
}
