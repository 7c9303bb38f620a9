package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/reports/result"
)

// measured is a run with one row, of some repeats.
func measured(p99 float64, repeats int) result.File {
	row := result.Row{
		Lock: "redlock", Scenario: "baseline", Workload: "mutex", Availability: 1, LatencyMS: &result.Quantiles{P50: 1, P99: p99, P999: p99, Max: p99},
		Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe, Liveness: "live"},
	}
	for i := range repeats {
		one := result.RepeatOf(row)
		one.Figures["latency_ms.p99"] += float64(i) / 100
		row.PerRepeat = append(row.PerRepeat, one)
	}
	return result.File{Schema: result.Schema, Run: result.Run{ID: "x", Topology: "t"}, Results: []result.Row{row}}
}

// scattered has eight repeats, each so much above the one before.
func scattered(p99, step float64) result.File {
	f := measured(p99, 8)
	for i := range f.Results[0].PerRepeat {
		f.Results[0].PerRepeat[i].Figures["latency_ms.p99"] = p99 + float64(i)*step
	}
	return f
}

// TestDifferencesFromABaseline end with 2 if they are shown, 4 if they are beyond the threshold
// and not shown, and 0 if they are not beyond it.
func TestDifferencesFromABaseline(t *testing.T) {
	for name, tt := range map[string]struct {
		after   result.File
		before  result.File
		code    int
		says    string
		verdict string
	}{
		"shown":       {measured(20, 8), measured(10, 8), exitViolated, "crossed --fail-on: redlock under baseline: latency_ms.p99>+10%: 20.0", result.StatusViolated},
		"few repeats": {measured(20, 2), measured(10, 2), exitInconclusive, "only more repeats of each run can tell", result.StatusInconclusive},
		"one run":     {measured(20, 0), measured(10, 0), exitInconclusive, "not judged: spread unknown", result.StatusInconclusive},
		"drift":       {measured(12, 8), measured(10, 8), exitInconclusive, "below what runs of one program differ by (25 %)", result.StatusInconclusive},
		"chance":      {scattered(13, 2.5), scattered(10, 2), exitInconclusive, "only more repeats of each run can tell", result.StatusInconclusive},
		"not beyond":  {measured(10.001, 8), measured(10, 8), exitOK, "", result.StatusExpected},
		"better":      {measured(10, 8), measured(20, 8), exitOK, "", result.StatusExpected},
	} {
		thresholds, err := parseThresholds([]string{"latency_ms.p99>+10%"}, true, "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		files := []result.File{tt.before, tt.after}
		failed := tellGate(&out, files, thresholds)
		code := exitOK
		if exit := (*exitError)(nil); errors.As(failed, &exit) {
			code = exit.code
		}
		said := strings.Join(strings.Fields(out.String()), " ")
		if code != tt.code || !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
			t.Errorf("%s: exit code %d, want %d; said %q", name, code, tt.code, said)
		}
		applyGate(tt.after.Results, gate(files, thresholds))
		applyThresholds(tt.after.Results, thresholds)
		if v := tt.after.Results[0].Verdict; v.Status != tt.verdict {
			t.Errorf("%s: the verdict is %s, want %s (%s)", name, v.Status, tt.verdict, v.Why)
		}
	}
	if _, err := parseThresholds([]string{"latency_ms.p99>+10%"}, false, "want --baseline DIR"); err == nil || !strings.Contains(err.Error(), "--baseline") {
		t.Errorf("a difference from nothing: %v", err)
	}
}

// TestWhatNeverCameIsBeyondEveryLimit: a lock that recovered before and does not any more is no
// lock without that figure.
func TestWhatNeverCameIsBeyondEveryLimit(t *testing.T) {
	before, after := measured(10, 8), measured(10, 8)
	before.Results[0].RecoveryMS = new(300.0)
	after.Results[0].NotRecovered = true
	undecided := measured(10, 8)
	undecided.Results[0].NotRecovered, undecided.Results[0].Verdict.Status = true, result.StatusInconclusive
	waiting := measured(10, 8)
	waiting.Results[0].LatencyMS, waiting.Results[0].AcquireMS, waiting.Results[0].OfferedPerS, waiting.Results[0].Availability = nil, nil, 0, 0
	waiting.Results[0].MeasuredMS = 1000
	waiting.Results[0].Measure("called_off", 8)
	for name, tt := range map[string]struct {
		files []result.File
		text  string
		code  int
		says  string
	}{
		"a limit":              {[]result.File{after}, "recovery_ms>2900", exitViolated, "crossed --fail-on"},
		"nobody served":        {[]result.File{waiting}, "latency_ms.p99>250", exitViolated, "crossed --fail-on"},
		"nobody was granted":   {[]result.File{waiting}, "acquire_ms.p99>250", exitViolated, "crossed --fail-on"},
		"a difference":         {[]result.File{before, after}, "recovery_ms>+10%", exitViolated, "recovery_ms>+10%: it never came, it was 300"},
		"nobody knows":         {[]result.File{before, undecided}, "recovery_ms>+10%", exitInconclusive, "not judged: inconclusive"},
		"it came":              {[]result.File{before}, "recovery_ms>2900", exitOK, ""},
		"nothing has it":       {[]result.File{before}, "handoff_ms.p99>3", exitOK, "--fail-on handoff_ms.p99>3 decides nothing: no row has that figure"},
		"it never came at all": {[]result.File{after, after}, "recovery_ms>+10%", exitOK, ""},
	} {
		thresholds, err := parseThresholds([]string{tt.text}, true, "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		failed := tellGate(&out, tt.files, thresholds)
		code := exitOK
		if exit := (*exitError)(nil); errors.As(failed, &exit) {
			code = exit.code
		}
		if said := strings.Join(strings.Fields(out.String()), " "); code != tt.code || !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
			t.Errorf("%s: exit code %d, want %d; said %q", name, code, tt.code, said)
		}
	}
}

// TestOpenDifferencesAreSaidOnce for each reason, with the rows that it is true of.
func TestOpenDifferencesAreSaidOnce(t *testing.T) {
	many := func(p99 float64) result.File {
		f := measured(p99, 2)
		for i := range 7 {
			row := f.Results[0]
			row.Lock = fmt.Sprintf("lock-%d", i)
			f.Results = append(f.Results, row)
		}
		return f
	}
	thresholds, err := parseThresholds([]string{"latency_ms.p99>+10%"}, true, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_ = tellGate(&out, []result.File{many(10), many(20)}, thresholds) // it ends with an exit code
	said := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"only more repeats of each run can tell: redlock under baseline: 20", "lock-2 under baseline", "and 4 more, which the report has"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("want %q once in\n%s", want, out.String())
		}
	}
	if n := strings.Count(said, "--fail-on"); n != 1 {
		t.Errorf("the reason is said %d times:\n%s", n, out.String())
	}
}

// TestADifferenceOfSeveralRunsNamesItsRun, whether it is shown or open.
func TestADifferenceOfSeveralRunsNamesItsRun(t *testing.T) {
	thresholds, err := parseThresholds([]string{"latency_ms.p99>+10%"}, true, "")
	if err != nil {
		t.Fatal(err)
	}
	first, shown, open := measured(10, 8), measured(20, 8), measured(20, 2)
	first.Run.ID, shown.Run.ID, open.Run.ID = "first", "second", "third"
	var out bytes.Buffer
	_ = tellGate(&out, []result.File{first, shown, open}, thresholds) // it ends with an exit code
	said := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"crossed --fail-on: second: redlock under baseline: latency", "third: redlock under baseline: 20"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}
