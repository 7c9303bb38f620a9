package failon_test

import (
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/failon"
	"locklab/reports/result"
)

func TestThresholds(t *testing.T) {
	stall := 700.0
	row := result.Row{
		Duplicates: &result.Duplicates{Total: 3, Raced: 1, Unreachable: 2},
		LatencyMS:  &result.Quantiles{P50: 1, P99: 20, Max: 90},
		StallMS:    &stall, Availability: 0.98, Errors: map[string]int64{"timeout": 4},
	}
	none := 0.0
	dead := result.Row{MeasuredMS: 1000, OfferedPerS: 10, NotRecovered: true, Acquired: &none}
	for text, crossed := range map[string]bool{
		"recovery_ms>2900": true, "recovery_ms>=2900": true, "recovery_ms<2900": false, "recovery_ms==0": false,
		"latency_ms.p99>10000": true, "acquire_ms>10000": true, "fill_ms>0": false,
	} {
		threshold, err := failon.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := threshold.Crossed(dead); got != crossed {
			t.Errorf("nothing ever came back: %s: crossed is %v, want %v", text, got, crossed)
		}
		if threshold.Crossed(result.Row{MeasuredMS: 1000}) && text != "recovery_ms<2900" {
			t.Errorf("nothing was asked: %s is crossed", text)
		}
		if missing := threshold.Missing([]result.Row{row, dead}); missing != (text == "fill_ms>0") {
			t.Errorf("%s: missing is %v", text, missing)
		}
	}
	tests := []struct {
		text    string
		crossed bool
	}{
		{"duplicates>0", true},
		{"duplicates > 3", false},
		{"duplicates>=3", true},
		{"duplicates.raced==1", true},
		{"duplicates.overlooked!=0", false},
		{"latency_ms>19", true},
		{"latency_ms.p50>19", false},
		{"availability<0.99", true},
		{"availability<=0.5", false},
		{"stall_ms>500", true},
		{"errors.timeout>3", true},
		{"errors.other>0", false},
		{"errors.other<1", true}, // none came
		{"overlaps>0", false},    // a figure that this workload does not have
	}
	for _, tt := range tests {
		threshold, err := failon.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := threshold.Crossed(row); got != tt.crossed {
			t.Errorf("%s: crossed is %v, want %v", tt.text, got, tt.crossed)
		}
	}
}

func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		text          string
		before, after float64
		beyond        bool
	}{
		{"latency_ms.p99>+10%", 100, 112, true},
		{"latency_ms.p99>+10%", 100, 109, false},
		{"latency_ms.p99>+10%", 100, 50, false},
		{"latency_ms.p99>+5", 100, 106, true},
		{"availability<-0.01", 0.99, 0.97, true},
		{"availability<-1%", 0.99, 0.985, false},
		{"availability<-1%", 0.99, 0.999, false},
		{"duplicates>+10%", 0, 1, true},
		{"duplicates>+10%", 0, 0, false},
		{"duplicates>5", 0, 9, false}, // no difference
	} {
		threshold, err := failon.Parse(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := threshold.Beyond(tt.before, tt.after); got != tt.beyond {
			t.Errorf("%s from %v to %v: %v, want %v", tt.text, tt.before, tt.after, got, tt.beyond)
		}
	}
}

func TestBadThresholdsAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                "FIGURE OPERATOR NUMBER",
		"duplicates":      "FIGURE OPERATOR NUMBER",
		"duplicates>many": "not a number",
		"dups>0":          "unknown figure",
		"duplicates>nan":  "finite number",
		"latency_ms>10%":  "a sign before a percentage",
		"latency_ms<+10%": "above + or below -",
		"latency_ms==+1":  "above + or below -",
		"duplicates<-Inf": "finite number",
	} {
		if _, err := failon.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one that says %q", text, err, want)
		}
	}
}
