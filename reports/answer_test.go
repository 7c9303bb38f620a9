package reports

import (
	"slices"
	"strings"
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestMajoritiesOfSeveralSizes: of servers that two locks have so many of, it is told whose they
// are; a number that all have is told once, and where no zone has most of them, nothing is.
func TestMajoritiesOfSeveralSizes(t *testing.T) {
	row := func(lock, role string, zones ...string) result.Row {
		r := result.Row{Lock: lock}
		for _, zone := range zones {
			r.Nodes = append(r.Nodes, result.NodeLoad{Role: role, Zone: zone})
		}
		for _, zone := range []string{"a", "c"} {
			r.Nodes = append(r.Nodes, result.NodeLoad{Role: "master", Zone: zone})
		}
		return r
	}
	redlock, raft := row("redlock", "redis", "a", "a", "a", "c", "c"), row("raft", "raft", "c", "a", "c")
	for name, c := range map[string]struct {
		rows []result.Row
		want string
	}{
		"one size":             {[]result.Row{redlock, row("redsync", "redis", "a", "a", "a", "c", "c")}, "Zone a has the majority: 3 of 5 redis servers."},
		"two sizes":            {[]result.Row{redlock, redlock, row("redis", "redis", "a")}, "Zone a has the majority: 1 of 1 redis servers (redis) and 3 of 5 redis servers (redlock)."},
		"two kinds, two zones": {[]result.Row{redlock, raft}, "Zone a has the majority: 3 of 5 redis servers. Zone c has the majority: 2 of 3 raft servers."},
		"as many in both":      {[]result.Row{row("etcd", "etcd", "a", "c")}, ""},
		"one zone":             {[]result.Row{{Lock: "raft", Nodes: raft.Nodes[:1]}}, ""},
	} {
		if got := majorities(lang.English(), c.rows); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnsafeByWhatIsNotDrawn: a lock that is unsafe by overlaps alone stands at the bottom of a plot
// of duplicates, and its mark and the text beside the plot say so.
func TestUnsafeByWhatIsNotDrawn(t *testing.T) {
	row := func(lock string, overlaps int64) result.Row {
		r := result.Row{Lock: lock, Scenario: "redis-restart", Workload: "matchmaking", Matches: 1000, Availability: 0.9, Duplicates: &result.Duplicates{}, Overlaps: &overlaps}
		r.Verdict = result.Verdict{Status: result.StatusExpected, Safety: result.Safe}
		if overlaps > 0 {
			r.Verdict.Safety = result.Unsafe
		}
		return r
	}
	rows := []result.Row{row("redis", 51), row("redlock", 0)}
	plot := tradeoffOf(lang.English(), rows, inksOf(rows))
	if want := "✗, unsafe although it has none of these: redis (redis-restart +51 overlaps)."; plot.Clean != want {
		t.Errorf("%q, want %q", plot.Clean, want)
	}
	for text, want := range map[string]bool{"redis redis-restart ✗<": true, `, +51 overlaps"`: true, "redlock redis-restart ✗": false, "redlock redis-restart<": true} {
		if strings.Contains(string(plot.SVG), text) != want {
			t.Errorf("the plot says %q: %t, want %t\n%s", text, !want, want, plot.SVG)
		}
	}
}

// TestTheMostUnreachable: where no duplicate is the lock's, the answer names the scenario with the
// most of those whose room could not be reached.
func TestTheMostUnreachable(t *testing.T) {
	row := func(scenario string, unreachable int64) result.Row {
		return result.Row{
			Lock: "multiphase", Scenario: scenario, Workload: "matchmaking", Matches: 1000,
			Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe}, Duplicates: &result.Duplicates{Unreachable: unreachable},
		}
	}
	rows := []result.Row{row("baseline", 0), row("one-way", 12), row("zone-partition", 31), row("link-flap", 7)}
	figures := result.Figures()
	f := figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Field == "duplicates.lock" })]
	for range rows {
		rows = append(rows[1:], rows[0])
		if c := answerCellOf(lang.English(), f, rows); c.Where != "zone-partition" || c.Besides != "+31 unreachable" || c.Meaning == good {
			t.Errorf("of 12, 31 and 7: %+v", c)
		}
	}
}
