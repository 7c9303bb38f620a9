package compare_test

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/compare"
	"locklab/workloads/result"
)

// runOf has a row for each repeat of one lock.
func runOf(id string, repeats int, figures func(repeat float64) map[string]float64) result.File {
	f := result.File{Run: result.Run{ID: id, Topology: "seoul", Load: "workload=matchmaking rate=300", Repeats: repeats}}
	f.Rows = rowsOf("raft", repeats, figures)
	return f
}

func rowsOf(lock string, repeats int, figures func(repeat float64) map[string]float64) (rows []result.Row) {
	for i := range repeats {
		rows = append(rows, result.Row{
			Lock: lock, Scenario: "baseline", Workload: "matchmaking", Repeat: i + 1, Figures: figures(float64(i)),
			Verdict: result.Verdict{Sound: result.Statement{State: result.OK}, As: result.AsExpected},
		})
	}
	return rows
}

func slow(r float64) map[string]float64 {
	return map[string]float64{"request_p99_ms": 20 + r, "served": 1, "duplicates": 3, "outage_ms": 200 - r}
}

func fast(r float64) map[string]float64 {
	return map[string]float64{"request_p99_ms": 10 + r, "served": 1, "duplicates": 0, "outage_ms": 199.5 - r}
}

// TestRuns: what differs in all repeats is claimed, worse or better by the figure; what is within
// chance, or the same, is not; without repeats, or where another thing was asked, nothing is.
func TestRuns(t *testing.T) {
	outcomes := func(files ...result.File) map[string]compare.Outcome {
		all := map[string]compare.Outcome{}
		for _, d := range compare.Runs(files) {
			if o := d.Outcome(); o != compare.SideBySide {
				all[d.Figure.Name] = o
			}
		}
		return all
	}
	if have := outcomes(runOf("a", 6, fast), runOf("b", 6, slow)); len(have) != 2 || have["request_p99_ms"] != compare.Worse || have["duplicates"] != compare.Worse {
		t.Errorf("have %v, want request_p99_ms and duplicates worse", have)
	}
	if have := outcomes(runOf("a", 6, slow), runOf("b", 6, fast)); len(have) != 2 || have["request_p99_ms"] != compare.Better {
		t.Errorf("have %v, want both better", have)
	}
	if have := outcomes(runOf("a", 1, fast), runOf("b", 1, slow)); len(have) != 0 {
		t.Errorf("without repeats: %v", have)
	}
	if have := outcomes(runOf("a", 3, fast), runOf("b", 3, slow)); len(have) != 0 {
		t.Errorf("with three repeats: %v", have)
	}
	other := runOf("b", 6, slow)
	other.Run.Load = "workload=matchmaking rate=600"
	if have := outcomes(runOf("a", 6, fast), other); len(have) != 0 {
		t.Errorf("with another load: %v", have)
	}
	unsound := runOf("b", 6, slow)
	for i := range 4 {
		unsound.Rows[i].Verdict.Sound.State = result.Failed
	}
	if have := outcomes(runOf("a", 6, fast), unsound); len(have) != 0 {
		t.Errorf("with two sound repeats: %v", have)
	}
}

// TestWrite: the pages and files of a comparison.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	files := []result.File{runOf("before", 6, fast), runOf("after", 6, slow)}
	files[1].Run.Host.Go = "go1.27"
	must.Do(t, compare.Write(dir, files, compare.Names([]string{"before", "after"})))
	for name, want := range map[string]string{
		"index.html": "request_p99_ms", "index.ko.html": "request_p99_ms", "report.md": "2 of 4 figures differ", "report.ko.md": "4",
		"results.csv": "raft,baseline,served",
	} {
		if text := string(testfile.Read(t, filepath.Join(dir, name))); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, text)
		}
	}
}

func TestApart(t *testing.T) {
	other := runOf("c", 1, fast)
	other.Rows[0].Lock = "redlock"
	if have := compare.Apart([]result.File{runOf("a", 1, fast), runOf("b", 1, fast), other}); have != 2 {
		t.Errorf("apart is %d, want the last", have)
	}
}
