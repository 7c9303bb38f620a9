package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/reports/series"
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

// TestRatesByHandAreDrawnInSteps: from the one that the run began with on; a run of which that
// is not known, or that had only one, has the mean.
func TestRatesByHandAreDrawnInSteps(t *testing.T) {
	row := result.Row{RateAtFirst: 150, OfferedPerS: 320, Rates: []result.Rate{{AtMS: 2000, PerS: 600}, {AtMS: 4000, PerS: 50}}}
	want := []plots.Offered{{FromMS: 0, PerS: 150}, {FromMS: 2000, PerS: 600}, {FromMS: 4000, PerS: 50}}
	if have := offeredOf(row); !slices.Equal(have, want) {
		t.Errorf("offered %v, want %v", have, want)
	}
	row.RateAtFirst = 0
	if have := offeredOf(row); have != nil {
		t.Errorf("without the first rate: %v", have)
	}
}

// TestZombiesSayWhoseGrantTheyBeginWith, in the cell, and below the table that has it.
func TestZombiesSayWhoseGrantTheyBeginWith(t *testing.T) {
	row := func(lock, since string) result.Row {
		return result.Row{Lock: lock, Scenario: "split", Workload: "mutex", Repeats: 1, ZombieMS: new(43.9), ZombieSince: since}
	}
	one := loaded{Series: make([]series.Series, 3), Notes: make([]sentence.Text, 3), Scenes: make([][]series.Scene, 3), File: result.File{Schema: result.Schema, Results: []result.Row{
		row("raft", result.SinceServer), row("etcd", result.SinceClient), row("of-an-older-program", ""),
	}}}
	all, err := lang.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, say := range all {
		p := pageOf(say, one)
		written, err := markdown(say, "report.md", MarkdownFile, p)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := html(say, "page.html", PageFile, p)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"Markdown": written, "page": shown} {
			for cell, want := range map[string]int{"43.9 †": 1, "43.9 ‡": 1, "43.9": 3} {
				if have := bytes.Count(text, []byte(cell)) - bytes.Count(text, []byte(`data-v="`+cell)); have != want {
					t.Errorf("%s, %s: %q %d times, want %d", say.Tag, name, cell, have, want)
				}
			}
			figures := result.Figures()
			for _, m := range figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Field == "zombie_ms" })].Marks {
				if legend := m.Sign + " " + say.Term(m.Means); strings.Count(strings.ReplaceAll(string(text), "&#39;", "'"), legend) != 1 {
					t.Errorf("%s, %s: want %q once", say.Tag, name, legend)
				}
			}
		}
	}
}
