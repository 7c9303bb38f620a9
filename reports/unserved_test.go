package reports

import (
	"strings"
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestNobodyServedIsNotServed: where all who asked still waited at the end, nothing failed, and
// nothing of it is good.
func TestNobodyServedIsNotServed(t *testing.T) {
	say := lang.English()
	served := result.Row{Lock: "raft", Scenario: "baseline", Workload: "mutex", Availability: 1, OfferedPerS: 5, Acquired: new(float64), LatencyMS: &result.Quantiles{P50: 1, P99: 2}}
	*served.Acquired = 1
	stuck := result.Row{Lock: "raft", Scenario: "holder-kill", Workload: "mutex"}
	stuck.Measure("called_off", 8)
	rows := []result.Row{served, stuck}
	for _, f := range result.Figures() {
		if f.Answer == "" || !ofRequests(f) {
			continue
		}
		if _, has := f.Of(served); !has {
			continue
		}
		if c := answerCellOf(say, f, rows); c.Meaning != harm || c.Value != "nobody served" || c.Where != "holder-kill" {
			t.Errorf("%s: %+v", f.Answer, c)
		}
	}
	if text := outages(say, rows, ambiguous(say, rows)); !strings.Contains(text, "nobody was served: 8 still waited at the end") || strings.Contains(text, "every request was served;") {
		t.Error(text)
	}
	if text := outages(say, rows[:1], ambiguous(say, rows)); text != "every request was served" {
		t.Error(text)
	}
}
