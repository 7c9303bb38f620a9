package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testfile"
	"locklab/reports/result"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// recorded writes the history of one repeat, in which two clients held the lock at once, or
// which somebody cut short before anything happened.
func recorded(t *testing.T, dir, path string, overlap bool) {
	t.Helper()
	const ms = int64(1e6)
	events := []history.Event{
		{Kind: history.KindRun, AtNS: 1, Run: &history.Run{
			Schema: history.Schema, Lock: "none", Scenario: "baseline", Workload: "mutex", Repeat: 1, DurationNS: 1000 * ms,
		}},
		{Kind: history.KindPhase, State: loadgen.PhaseMeasure, AtNS: 10 * ms},
	}
	if overlap {
		for _, hold := range []string{"a", "b"} {
			events = append(events, history.Event{Kind: history.KindAcquire, Node: "m1", Client: hold, Hold: hold, Resource: "x", FromNS: 20 * ms, SentNS: 20 * ms, AtNS: 30 * ms, Outcome: "ok"})
		}
		events = append(events, history.Event{Kind: history.KindPhase, State: loadgen.PhaseDrain, AtNS: 1010 * ms}, history.Event{Kind: history.KindPhase, State: loadgen.PhaseEnd, AtNS: 1011 * ms})
	}
	path = filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		file.Record(e)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsRunAgain: a repeat that decided something stands, and what decided nothing is
// kept under a name of its own, however often; the file says so before anything is run.
func TestWhatIsRunAgain(t *testing.T) {
	const one, two = "histories/none/baseline.mutex.1.jsonl", "histories/none/baseline.mutex.2.jsonl"
	for name, tt := range map[string]struct {
		overlap  []bool   // of each repeat
		standing []string // the histories of those that stand
		aside    []string
	}{
		"nothing was decided":       {[]bool{false}, nil, []string{one + ".inconclusive-2"}},
		"the first one is violated": {[]bool{true, false}, []string{one}, []string{two + ".inconclusive-1"}},
		"the last one is violated":  {[]bool{false, true}, []string{two}, []string{one + ".inconclusive-2"}},
		"a violation, and no more":  {[]bool{true}, []string{one}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var repeats []repeat
			for i, overlap := range tt.overlap {
				path := []string{one, two}[i]
				recorded(t, dir, path, overlap)
				r, err := judge(t.Context(), dir, path)
				if err != nil {
					t.Fatal(err)
				}
				repeats = append(repeats, r)
			}
			before := filepath.Join(dir, one+".inconclusive-1")
			testfile.Write(t, before, "of an earlier time")
			row := rowOf(repeats, nil)
			row.Partial = true
			rows := newTable([]Config{{Dir: dir}}, &result.File{Schema: result.Schema})
			rows.keep(result.File{Results: []result.Row{row}})

			standing, err := rows.begin(t.Context(), dir, keyOf(row), nil)
			if err != nil {
				t.Fatal(err)
			}
			var kept, listed []string
			for _, r := range standing {
				kept = append(kept, r.history)
			}
			file, err := result.Read(filepath.Join(dir, result.FileName))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range file.Results {
				listed = append(listed, r.Histories...)
				if r.Verdict.Status != result.StatusViolated || !r.Partial {
					t.Errorf("the row is %s, partial %v", r.Verdict.Status, r.Partial)
				}
			}
			if !slices.Equal(kept, tt.standing) || !slices.Equal(listed, tt.standing) {
				t.Errorf("%q stand, and the file names %q; want %q", kept, listed, tt.standing)
			}
			for _, path := range tt.aside {
				if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
					t.Error(err)
				}
			}
			if rest, err := unlisted(dir, file.Results); err != nil || len(rest) > 0 {
				t.Errorf("%q are in no row: %v", rest, err)
			}
			if text, err := os.ReadFile(before); err != nil || string(text) != "of an earlier time" {
				t.Errorf("what was kept before: %q, %v", text, err)
			}
		})
	}
}

// TestWhatWasSeenStays: a try that decides nothing is run again, but what it showed is told.
func TestWhatWasSeenStays(t *testing.T) {
	const path = "histories/none/baseline.mutex.1.jsonl"
	dir := t.TempDir()
	recorded(t, dir, path+".inconclusive-1", true)
	recorded(t, dir, path, false)
	r, err := judge(t.Context(), dir, path)
	if err != nil {
		t.Fatal(err)
	}
	if v := rowOf([]repeat{r}, nil).Verdict; !strings.HasSuffix(v.Why, ". An earlier try that decides nothing showed 1 overlapping hold.") {
		t.Errorf("the row says %q", v.Why)
	}
}
