package failon_test

import (
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/failon"
	"locklab/workloads/result"
)

func TestThresholds(t *testing.T) {
	row := result.Row{Figures: map[string]float64{"duplicates": 3, "request_p99_ms": 20, "served": 0.98, "outage_ms": 700}, Errors: map[string]int64{"timeout": 4}}
	for text, crossed := range map[string]bool{
		"duplicates>0": true, "duplicates > 3": false, "duplicates>=3": true, "duplicates==3": true, "duplicates!=3": false,
		"request_p99_ms>19": true, "served<0.99": true, "served<=0.5": false, "outage_ms>500": true,
		"errors.timeout>3": true, "errors.other>0": false, "errors.other<1": true,
		"overlaps>0": false, // a figure that the row does not have
	} {
		threshold, err := failon.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := threshold.Crossed(row); got != crossed {
			t.Errorf("%s: crossed is %v", text, got)
		}
		if missing := threshold.Missing([]result.Row{row}); missing != (text == "overlaps>0") {
			t.Errorf("%s: missing is %v", text, missing)
		}
	}
}

func TestDifferences(t *testing.T) {
	for text, beyond := range map[string]bool{"request_p99_ms>+10%": true, "request_p99_ms>+60%": false, "request_p99_ms>+4": true, "served<-0.5": false} {
		threshold, err := failon.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := threshold.Beyond(10, 15); got != beyond || !threshold.Differs() {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"duplicates":          "want FIGURE OPERATOR NUMBER",
		"duplicate>0":         `unknown figure "duplicate"`,
		"duplicates>x":        `"x" is not a number`,
		"duplicates>NaN":      "want a finite number",
		"duplicates>10%":      "want a sign before a percentage",
		"duplicates>-10%":     "above + or below -",
		"errors.timeout>+10%": "unknown figure",
	} {
		if _, err := failon.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
