package threshold_test

import (
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/threshold"
	"locklab/internal/must"
	"locklab/workloads/result"
)

func parse(t *testing.T, text string) threshold.Threshold {
	t.Helper()
	p, err := threshold.Parse(text)
	must.Do(t, err)
	return p
}

func rowOf(figures map[string]float64) result.Row {
	return result.Row{
		Lock: "raft", Scenario: "baseline", Workload: "matchmaking", Figures: figures, Errors: map[string]int64{"timeout": 4},
		Verdict: result.Verdict{Sound: result.Statement{State: result.OK}},
	}
}

func TestCrossed(t *testing.T) {
	row := rowOf(map[string]float64{"duplicates": 3, "request_p99_ms": 20, "served": 0.98})
	for text, crossed := range map[string]bool{
		"duplicates>0": true, "duplicates > 3": false, "duplicates>=3": true, "duplicates==3": true, "duplicates!=3": false,
		"request_p99_ms>19": true, "served<0.99": true, "served<=0.5": false, "overlaps>0": false, "overlaps<1": false,
		"errors.timeout>3": true, "errors.other>0": false, "request_p99_ms>+1": false,
	} {
		if have := parse(t, text).Crossed(&row); have != crossed {
			t.Errorf("%s: crossed is %v, want %v", text, have, crossed)
		}
	}
	if !parse(t, "overlaps>0").Missing(&row) || parse(t, "served<1").Missing(&row) {
		t.Error("overlaps are missing, and served is not")
	}
}

// TestRepeats: of the repeats of a cell the median decides, but a count of any.
func TestRepeats(t *testing.T) {
	var rows []*result.Row
	for _, n := range []float64{0, 1, 0} {
		row := rowOf(map[string]float64{"duplicates": n, "request_p99_ms": 100 * n})
		rows = append(rows, &row)
	}
	if !parse(t, "duplicates>0").Crossed(rows...) || parse(t, "request_p99_ms>50").Crossed(rows...) {
		t.Error("want duplicates of any repeat, and the median latency")
	}
}

func TestBeyond(t *testing.T) {
	for _, tt := range []struct {
		text          string
		before, after float64
		beyond        bool
	}{
		{"request_p99_ms>+10%", 100, 112, true},
		{"request_p99_ms>+10%", 100, 109, false},
		{"request_p99_ms>+10%", 100, 50, false},
		{"request_p99_ms>+5", 100, 106, true},
		{"served<-0.01", 0.99, 0.97, true},
		{"served<-1%", 0.99, 0.985, false},
		{"duplicates>+10%", 0, 1, true},
		{"duplicates>+10%", 0, 0, false},
		{"duplicates>5", 0, 9, false}, // no difference
	} {
		if have := parse(t, tt.text).Beyond(tt.before, tt.after); have != tt.beyond {
			t.Errorf("%s from %v to %v: %v, want %v", tt.text, tt.before, tt.after, have, tt.beyond)
		}
	}
}

func TestBadThresholdsAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "FIGURE OPERATOR NUMBER",
		"duplicates":          "FIGURE OPERATOR NUMBER",
		"duplicates>many":     "not a number",
		"duplicates>nan":      "finite number",
		"duplicates<-Inf":     "finite number",
		"dups>0":              "unknown figure",
		"request_p99>1":       "did you mean request_p99_ms?",
		"request_p99_ms>10%":  "a sign before a percentage",
		"request_p99_ms<+10%": "above + or below -",
		"request_p99_ms==+1":  "above + or below -",
		"errors.timeout>+10%": "unknown figure",
	} {
		if _, err := threshold.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one that says %q", text, err, want)
		}
	}
}
