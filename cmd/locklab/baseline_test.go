package main

import (
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/threshold"
	"locklab/internal/must"
	"locklab/workloads/result"
)

// measured is a run with the repeats of one combination.
func measured(p99s ...float64) result.File {
	ok := result.Statement{State: result.OK}
	f := result.File{Schema: result.Schema, Run: result.Run{ID: "x", Topology: "t"}}
	for i, p99 := range p99s {
		f.Rows = append(f.Rows, result.Row{
			Lock: "redlock", Scenario: "baseline", Workload: "mutex", Repeat: i + 1, Figures: map[string]float64{"request_p99_ms": p99},
			Verdict: result.Verdict{Sound: ok, Safety: ok, Liveness: ok, Word: result.Live, As: result.AsExpected},
		})
	}
	return f
}

// TestThresholds end with 2 if they are crossed, 4 if a difference is beyond one and cannot be
// claimed, and 0 otherwise.
func TestThresholds(t *testing.T) {
	for name, tt := range map[string]struct {
		files []result.File
		text  string
		code  int
		says  string
	}{
		"a limit":      {[]result.File{measured(20)}, "request_p99_ms>10", exitViolated, "crossed --fail-on request_p99_ms>10: redlock under baseline"},
		"below it":     {[]result.File{measured(5)}, "request_p99_ms>10", exitOK, ""},
		"of the first": {[]result.File{measured(20), measured(5)}, "request_p99_ms>10", exitOK, ""},
		"claimed":      {[]result.File{measured(1, 2, 3, 4, 5, 6), measured(11, 12, 13, 14, 15, 16)}, "request_p99_ms>+10%", exitViolated, "crossed --fail-on request_p99_ms>+10%: redlock under baseline: 14 ms, it was 3.5 ms"},
		"one run":      {[]result.File{measured(10), measured(20)}, "request_p99_ms>+10%", exitInconclusive, "open --fail-on"},
		"better":       {[]result.File{measured(20), measured(10)}, "request_p99_ms>+10%", exitOK, ""},
		"no figure":    {[]result.File{measured(20)}, "handoff_p99_ms>3", exitOK, "--fail-on handoff_p99_ms>3 decides nothing"},
	} {
		thresholds, err := threshold.ParseAll([]string{tt.text}, true, "")
		must.Do(t, err)
		told, as := threshold.Gate(tt.files, []string{"a", "b"}, thresholds)
		if said, code := strings.Join(told, "\n"), as.ExitCode(); code != tt.code || !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
			t.Errorf("%s: exit code %d, want %d; said %q", name, code, tt.code, said)
		}
	}
	if _, err := threshold.ParseAll([]string{"request_p99_ms>+10%"}, false, "want --baseline DIR"); err == nil || !strings.Contains(err.Error(), "--baseline") {
		t.Errorf("a difference from nothing: %v", err)
	}
}

// TestExitCode: not as expected before a silent control before a run that is not sound; a threshold
// that is crossed before them, and an interruption before all.
func TestExitCode(t *testing.T) {
	for name, tt := range map[string]struct {
		as          []result.Comparison
		threshold   int
		interrupted bool
		code        int
	}{
		"all as expected":          {[]result.Comparison{result.AsExpected}, exitOK, false, exitOK},
		"the worst":                {[]result.Comparison{result.Unsound, result.Silent, result.NotAsExpected}, exitOK, false, exitViolated},
		"a control is worse":       {[]result.Comparison{result.Unsound, result.Silent}, exitOK, false, exitControlSilent},
		"not sound":                {[]result.Comparison{result.Unsound}, exitOK, false, exitInconclusive},
		"a threshold":              {[]result.Comparison{result.Silent}, exitViolated, false, exitViolated},
		"an open one":              {[]result.Comparison{result.Silent}, exitInconclusive, false, exitControlSilent},
		"an open one, and no more": {[]result.Comparison{result.AsExpected}, exitInconclusive, false, exitInconclusive},
		"interrupted":              {[]result.Comparison{result.NotAsExpected}, exitViolated, true, exitInterrupted},
	} {
		f := result.File{Run: result.Run{Interrupted: tt.interrupted}}
		for _, as := range tt.as {
			f.Rows = append(f.Rows, result.Row{Verdict: result.Verdict{As: as}})
		}
		if code := exitCode(f, tt.threshold); code != tt.code {
			t.Errorf("%s: %d, want %d", name, code, tt.code)
		}
	}
}
