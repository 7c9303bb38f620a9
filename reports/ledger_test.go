package reports

import (
	"fmt"
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestWhatAPersonDidIsToldOneByOne: the same fault twice is two lines, with the rates between
// them; of scenarios it is one.
func TestWhatAPersonDidIsToldOneByOne(t *testing.T) {
	row := result.Row{
		Lock: "raft", Scenario: "play", Rates: []result.Rate{{AtMS: 2000, PerS: 600}},
		Faults: []result.Fault{
			{Kind: "kill", Target: "holder", AskedMS: 1000, BeganMS: 1010, EndedMS: 1500, Proven: true},
			{Kind: "kill", Target: "holder", AskedMS: 3000, BeganMS: 3010, EndedMS: result.Never, Proven: true},
		},
	}
	for played, want := range map[bool]string{
		true:  "[play (raft) kill 1,010 1,500] [play (raft) rate 2,000 –] [play (raft) kill 3,010 –]",
		false: "[play kill 1,010 to 3,010 1,500]",
	} {
		r := row
		if r.Played = played; !played {
			r.Rates = nil
		}
		got := ""
		for _, l := range ledger(lang.English(), []result.Row{r}) {
			got += fmt.Sprintf(" [%s %s %s %s]", l.Scenario, l.Kind, l.Began, l.Ended)
		}
		if got != " "+want {
			t.Errorf("played %v:%s\nwant %s", played, got, want)
		}
	}
}
