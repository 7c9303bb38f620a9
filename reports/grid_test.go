package reports_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestGrid: every cell is there in letters, what does not apply is told from what was not
// run, and claims come with what decided them.
func TestGrid(t *testing.T) {
	row := func(lock, scenario, status, safety, liveness string) result.Row {
		return result.Row{Lock: lock, Scenario: scenario, Workload: "mutex", Verdict: result.Verdict{Status: status, Safety: safety, Liveness: liveness}}
	}
	f := result.File{
		Run: result.Run{
			Unfit: []result.Unfit{{Lock: "none", Scenario: "leader-kill", Workload: "mutex"}},
			Claims: []result.Claim{{Claim: "It holds.", Source: "Somebody", Verdict: result.ClaimPartly, Evidence: []result.Evidence{
				{Lock: "raft", Scenario: "baseline", Workload: "mutex", Wanted: []string{"safe"}, Verdict: result.ClaimShown},
				{Lock: "none", Scenario: "baseline", Workload: "mutex", Wanted: []string{"stall_ms>9"}, Verdict: result.ClaimPartly},
				{Lock: "none", Scenario: "baseline", Workload: "mutex", Wanted: []string{"stalls", "down"}, Verdict: result.ClaimRefuted},
			}}},
		},
		Results: []result.Row{
			row("none", "baseline", result.StatusExpected, result.Unsafe, "live"),
			row("none", "cut", result.StatusControlSilent, result.Safe, "stalls"),
			row("raft", "baseline", result.StatusInconclusive, result.Safe, "live"),
			row("raft", "cut", result.StatusExpected, result.Safe, result.LivenessNotJudged),
			row("2pc", "cut", result.StatusExpected, result.Safe, "stalls"),
			row("raft", "leader-kill", result.StatusNotJudged, result.SafetyNotJudged, "down"),
		},
	}
	f.Results[2].Verdict.KeepOwn()
	f.Results[2].Verdict.Status = result.StatusViolated // --fail-on makes no evidence of what decides nothing
	f.Results[0].Tries = &result.Tries{Seen: 19, Unseen: 1, Undecided: 2}
	f.Results[0].Verdict.Expected.Safety = result.Unsafe
	for _, colour := range []bool{false, true} {
		var out bytes.Buffer
		if err := reports.Grid(&out, lang.English(), f, 80, colour); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if colour != strings.Contains(text, "\x1b[") {
			t.Errorf("colour %v: %q", colour, text)
		}
		for _, plain := range []string{"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
			text = strings.ReplaceAll(text, plain, "")
		}
		for _, want := range []string{
			"lock   1   2   3\n", "none  Ul Ss!   .\n", "raft   ?  S-  -d\n", "1 baseline, 2 cut, 3 leader-kill\n",
			"△ shown only under some: It holds. (Somebody) [raft under baseline: safe\n", "  (shown); none under baseline: stall_ms>9, stalls or down (refuted)]",
			"\nnone under baseline: 19 of 20, 2 undecided (expected unsafe)\n", "blank: the two were not", "2pc       Ss    \n", "no run shows more.\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		}
		for line := range strings.Lines(text) {
			if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("too long: %q", line)
			}
		}
	}
}

// TestGridNames: locks whose names differ in the middle are told apart where all scenarios
// beside them would be wider than the line.
func TestGridNames(t *testing.T) {
	locks := []string{"redlock:order=parallel,retry=fixed,ttl=1s", "redlock:order=sequential,retry=fixed,ttl=1s"}
	var f result.File
	for _, lock := range locks {
		for i := range 21 {
			f.Results = append(f.Results, result.Row{
				Lock: lock, Scenario: fmt.Sprintf("s%d", i+1), Workload: "mutex",
				Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe, Liveness: "live"},
			})
		}
	}
	var out bytes.Buffer
	if err := reports.Grid(&out, lang.English(), f, 80, false); err != nil {
		t.Fatal(err)
	}
	for _, lock := range locks {
		cells := 0
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, lock+" ") {
				cells += strings.Count(line, "Sl")
			}
			if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
				t.Errorf("too long: %q", line)
			}
		}
		if cells != 21 {
			t.Errorf("%s has %d of 21 cells beside its name in\n%s", lock, cells, out.String())
		}
	}
}

// TestGridContinues: a lock to which nothing of a further table applies is not in that table.
func TestGridContinues(t *testing.T) {
	var f result.File
	for i := range 30 {
		scenario := fmt.Sprintf("s%d", i+1)
		f.Results = append(f.Results, result.Row{Lock: "raft", Scenario: scenario, Workload: "mutex", Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe, Liveness: "live"}})
		if i == 0 {
			f.Results = append(f.Results, result.Row{Lock: "none", Scenario: scenario, Workload: "mutex", Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe, Liveness: "live"}})
		} else {
			f.Run.Unfit = append(f.Run.Unfit, result.Unfit{Lock: "none", Scenario: scenario, Workload: "mutex"})
		}
	}
	var out bytes.Buffer
	if err := reports.Grid(&out, lang.English(), f, 80, false); err != nil {
		t.Fatal(err)
	}
	if raft, none := strings.Count(out.String(), "\nraft "), strings.Count(out.String(), "\nnone "); raft != 2 || none != 1 {
		t.Errorf("raft has %d lines, want 2, and none %d, want 1:\n%s", raft, none, out.String())
	}
	dir := t.TempDir()
	f.Schema, f.Run.ID = result.Schema, "suite"
	for _, tt := range []struct {
		of   result.File
		want bool
	}{{f, true}, {result.File{Schema: f.Schema, Run: result.Run{ID: "all"}, Results: f.Results[:2]}, false}} {
		if err := result.Write(filepath.Join(dir, result.FileName), tt.of); err != nil {
			t.Fatal(err)
		}
		generate(t, []string{dir}, "")
		page := string(read(t, dir, reports.PageFile))
		if strings.Contains(page, "does not apply</span>") != tt.want || strings.Contains(page, "Does not apply: the scenario has nothing to break") != tt.want {
			t.Errorf("the page says what does not apply, and what that means: want %v", tt.want)
		}
	}
}
