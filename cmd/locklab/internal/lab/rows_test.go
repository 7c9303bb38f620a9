package lab

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"locklab/chaos/scenario"
	"locklab/internal/testfile"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
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
	rows := newResults([]Config{c}, &file)
	rows.keep(result.File{Rows: []result.Row{partial, gone, whole}})
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
	if err := rows.put(row("local", 1)); err != nil {
		t.Fatal(err)
	}
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

// TestComplete: a comparison that was killed gets the row of the history that it left. A history
// that was set aside gives none.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	const ms = int64(1e6)
	const path = "histories/none/baseline.mutex.2.jsonl"
	testfile.Write(t, filepath.Join(dir, path), "of an earlier try")
	if err := setAside(filepath.Join(dir, path)); err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []history.Event{
		{Kind: history.KindRun, AtNS: 1, Run: &history.Run{Schema: history.Schema, Lock: "none", Scenario: "baseline", Workload: "mutex", Repeat: 2, DurationNS: 1000 * ms}},
		{Kind: history.KindPhase, State: loadgen.PhaseMeasure, AtNS: 10 * ms},
		{Kind: history.KindAcquire, Node: "m1", Client: "c", Hold: "h", Resource: "x", FromNS: 20 * ms, SentNS: 20 * ms, AtNS: 30 * ms, Outcome: "ok"},
	} {
		w.Record(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sound := result.Statement{State: result.OK}
	first := result.Row{
		Lock: "none", Scenario: "baseline", Workload: "mutex", Repeat: 1, History: "histories/none/baseline.mutex.1.jsonl",
		Verdict: result.Verdict{Sound: sound, Safety: sound, Liveness: sound, Word: result.Live, As: result.AsExpected},
	}
	file := result.File{Schema: result.Schema, Run: result.Run{Unfinished: true}, Rows: []result.Row{first}}
	if err := result.Write(filepath.Join(dir, result.FileName), file); err != nil {
		t.Fatal(err)
	}
	if err := Complete(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if file, err = result.Read(filepath.Join(dir, result.FileName)); err != nil {
		t.Fatal(err)
	}
	if len(file.Rows) != 2 || file.Rows[1].Repeat != 2 || !file.Rows[1].Partial || file.Rows[1].History != path {
		t.Errorf("%+v", file.Rows)
	}
	if text, err := os.ReadFile(filepath.Join(dir, path+".aside-1")); err != nil || string(text) != "of an earlier try" {
		t.Errorf("what was kept before: %q, %v", text, err)
	}
}
