package reports

import (
	"fmt"
	"path/filepath"
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

// TestOthersOnTheMachine are told of, in any repeat, though no verdict is theirs; and what a repeat
// took that they disturbed stands in no bracket of the others.
func TestOthersOnTheMachine(t *testing.T) {
	repeat := func(others, p50 float64) result.Repeat {
		return result.Repeat{Figures: map[string]float64{result.OthersField: others, "acquire_ms.p50": p50}}
	}
	row := func(lock string, p50 float64, repeats ...result.Repeat) result.Row {
		return result.Row{
			Lock: lock, Scenario: "baseline", Workload: "mutex", Availability: 1, OfferedPerS: 1, Repeats: len(repeats), PerRepeat: repeats, AcquireMS: &result.Quantiles{P50: p50},
			Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe},
		}
	}
	rows := []result.Row{row("redis", 0.64, repeat(0.81, 0.9), repeat(0.1, 0.48), repeat(0.1, 0.52)), row("raft", 2, repeat(0.19, 1.9), repeat(0, 2), repeat(0, 2.1))}
	quiet := checkOf(lang.English(), rows).Quiet
	if want := "Other programs used up to 81.0% of the machine's CPUs during redis under baseline: what was slow there may be their doing."; !strings.HasSuffix(quiet, want) {
		t.Errorf("%q does not say %q", quiet, want)
	}
	cost := ""
	for _, f := range costFindings(lang.English(), rows) {
		cost += f.Plain()
	}
	if want := "redis 0.64\u00a0ms and raft 2\u00a0ms (1.90\u00a0ms to 2.10\u00a0ms)"; !strings.Contains(strings.ReplaceAll(cost, " ms", "\u00a0ms"), want) {
		t.Errorf("%q does not say %q", cost, want)
	}
	if rows[0].PerRepeat[0].Figures[result.OthersField] = 0.2; othersFinding(lang.English(), rows) != nil {
		t.Error("20 % of the CPUs are told of")
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

// TestTheMostOverlaps: where none of the violations of the column was seen, it names the scenario with
// the most of the others.
func TestTheMostOverlaps(t *testing.T) {
	row := func(scenario string, overlaps, unreachable int64) result.Row {
		return result.Row{
			Lock: "raft", Scenario: scenario, Workload: "matchmaking", Matches: 1000, Overlaps: &overlaps,
			Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Unsafe}, Duplicates: &result.Duplicates{Unreachable: unreachable},
		}
	}
	rows := []result.Row{row("granted-pause", 1, 7), row("leader-pause", 0, 12), row("holder-pause", 2, 3), row("baseline", 0, 0)}
	figures := result.Figures()
	f := figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Field == "duplicates.lock" })]
	for range rows {
		rows = append(rows[1:], rows[0])
		if c := answerCellOf(lang.English(), f, rows); c.Where != "holder-pause" || c.Besides != "+3 unreachable, +2 overlaps" || c.Meaning != harm {
			t.Errorf("of 1, 0 and 2: %+v", c)
		}
	}
}

// TestAnOutagesNoteStandsWithItsOutage: what of it was before the fault comes before another scenario's,
// and one that is undecided and went on is named once, as at least so long.
func TestAnOutagesNoteStandsWithItsOutage(t *testing.T) {
	row := func(scenario, status string, stall, before, open float64) result.Row {
		r := result.Row{Lock: "raft", Scenario: scenario, Workload: "mutex", Repeats: 1, MeasuredMS: 8000, Availability: 1, OfferedPerS: 100, StallMS: &stall}
		r.Verdict.Status = status
		r.Measure(result.StallBefore, before)
		r.Measure(result.StallOpen, open)
		return r
	}
	for want, rows := range map[string][]result.Row{
		"1.3 s; cut; 300 ms of it before the fault; kill: ≥ 1.7 s, undecided": {
			row("cut", result.StatusExpected, 1300, 300, 0), row("kill", result.StatusInconclusive, 1740, 0, 1),
		},
		"1.3 s; cut; 300 ms of it before the fault; kill: ≥ 904 ms": {
			row("cut", result.StatusExpected, 1300, 300, 0), row("kill", result.StatusExpected, 904, 0, 1),
		},
	} {
		c := answerCellOf(lang.English(), outageFigure(), rows)
		if got := strings.Join([]string{c.Value, c.Where, c.Elsewhere}, "; "); got != want {
			t.Errorf("the cell says %q, want %q", got, want)
		}
	}
}

// TestAnUndecidedRowHidesNoHarm: what makes a cell a harm is named in it, whatever another row could not
// decide.
func TestAnUndecidedRowHidesNoHarm(t *testing.T) {
	row := func(scenario, status string, p99, served float64) result.Row {
		r := result.Row{Lock: "redlock", Scenario: scenario, Workload: "matchmaking", Repeats: 1, MeasuredMS: 2000, OfferedPerS: 100, Availability: served}
		r.LatencyMS, r.Verdict.Status = &result.Quantiles{P50: 1, P99: p99, P999: p99, Max: p99}, status
		return r
	}
	figures := result.Figures()
	f := figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Field == "latency_ms.p99" })]
	slow, died := row("zone-latency", result.StatusExpected, 338, 1), row("zone-failure", result.StatusExpected, 83, 0.42)
	for want, rows := range map[string][]result.Row{
		"338 ms; zone-latency; zone-partition: 1.2 s, undecided; zone-failure: 42.0% served":        {slow, row("zone-partition", result.StatusInconclusive, 1220, 1), died},
		"338 ms; zone-latency; zone-failure: 42.0% served; zone-partition: 10.0% served, undecided": {slow, row("zone-partition", result.StatusInconclusive, 20, 0.1), died},
		"338 ms; zone-latency; zone-failure: 42.0% served":                                          {slow, row("zone-partition", result.StatusInconclusive, 20, 0.6), died},
	} {
		c := answerCellOf(lang.English(), f, rows)
		if got := strings.Join([]string{c.Value, c.Where, c.Elsewhere}, "; "); got != want || c.Meaning != harm {
			t.Errorf("the cell says %q (%v), want %q", got, c.Meaning, want)
		}
	}
	nobody := result.Row{Lock: "redlock", Scenario: "session-expired", Workload: "matchmaking", Repeats: 1, MeasuredMS: 2000}
	nobody.Verdict.Status = result.StatusInconclusive
	nobody.Measure("called_off", 8)
	for field, want := range map[string]string{
		"latency_ms.p99": "338 ms; zone-latency; session-expired: nobody served, undecided; zone-failure: 42.0% served",
		"":               "58.0%; zone-failure; session-expired: nobody served, undecided", // failed requests
	} {
		f := figures[slices.IndexFunc(figures, func(f result.Figure) bool {
			return f.Field == field && (field != "" || f.Answer != "" && f.As == result.Share)
		})]
		c := answerCellOf(lang.English(), f, []result.Row{slow, nobody, died})
		if got := strings.Join([]string{c.Value, c.Where, c.Elsewhere}, "; "); got != want || c.Meaning != harm {
			t.Errorf("%q: the cell says %q (%v), want %q", field, got, c.Meaning, want)
		}
	}
}

// TestFailuresThatNoFaultTouched: a share of failed requests says how much of it no fault is to blame for.
func TestFailuresThatNoFaultTouched(t *testing.T) {
	say := lang.English()
	r := result.Row{Lock: "redis", Scenario: "zone-partition", Workload: "matchmaking", Repeats: 1, MeasuredMS: 2000, OfferedPerS: 100, Availability: 0.926}
	r.AvailabilityOutside, r.Faults = new(0.939), []result.Fault{{Kind: "partition"}}
	figures := result.Figures()
	f := figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Answer != "" && f.As == result.Share })]
	if c := answerCellOf(say, f, []result.Row{r}); c.Elsewhere != "6.1% of those that no fault touched" {
		t.Errorf("the answer says %q besides", c.Elsewhere)
	}
	said := fmt.Sprint(cellOf(say, r, violationOf([]result.Row{r})).Lines)
	if !strings.Contains(said, "that no fault touched") {
		t.Errorf("the cell of the scenario says %s", said)
	}
}

// TestNotJudgedIsNeverGood: neither in the cell of a scenario, nor in the plot.
func TestNotJudgedIsNeverGood(t *testing.T) {
	say := lang.English()
	row := func(lock, safety string) result.Row {
		r := result.Row{Lock: lock, Scenario: "play", Workload: "matchmaking", Repeats: 1, MeasuredMS: 8000, OfferedPerS: 100, Availability: 1, Duplicates: &result.Duplicates{}}
		r.Verdict.Safety, r.Verdict.Status = safety, result.StatusExpected
		return r
	}
	unjudged, judged, unsafe := row("quorum", result.SafetyNotJudged), row("redlock", result.Safe), row("none", result.Unsafe)
	unsafe.Duplicates.Raced, unsafe.Matches = 9, 100
	counted := violationOf([]result.Row{judged})
	if c := cellOf(say, unjudged, counted); c.Meaning != open || c.Lines[0].Value != "none seen" {
		t.Errorf("the cell is %v, and says %+v", c.Meaning, c.Lines)
	}
	if c := cellOf(say, judged, counted); c.Meaning != good || c.Lines[0].Value != "0" {
		t.Errorf("of a lock that was judged it is %v, and says %+v", c.Meaning, c.Lines)
	}
	rows := []result.Row{unjudged, judged, unsafe}
	if plot := tradeoffOf(say, rows, inksOf(rows)); plot.Clean != "At the origin, with none of either: redlock (play). There too, but whether it is safe was not judged: quorum (play)." {
		t.Errorf("the plot says %q", plot.Clean)
	}
}

// TestViolationsThatNoFaultTouched: a sentence that names what was broken, and the cells, say of how many
// violations that was not the cause.
func TestViolationsThatNoFaultTouched(t *testing.T) {
	say := lang.English()
	row := func(scenario string, overlaps, untouched int64) result.Row {
		r := result.Row{Lock: "multiphase:rule=literal", Scenario: scenario, Workload: "mutex", Repeats: 1, MeasuredMS: 8000, OfferedPerS: 100, Availability: 1, Overlaps: &overlaps}
		r.Verdict.Safety, r.Faults = result.Unsafe, []result.Fault{{Kind: scenario, Proven: true}}
		r.Measure("overlaps_untouched", float64(untouched))
		return r
	}
	for _, c := range []struct {
		rows       []result.Row
		said, cell string
	}{
		{[]result.Row{row("flap", 7, 2)}, "7 overlapping holds (no fault touched 2 of them) when links came and went", "no fault touched 2 of them"},
		{[]result.Row{row("flap", 7, 7)}, "7 overlapping holds (no fault touched any of them) when links came and went", "no fault touched any of them"},
		{[]result.Row{row("flap", 1, 1)}, "1 overlapping hold (no fault touched it) when links came and went", "no fault touched it"},
		{[]result.Row{row("flap", 7, 0)}, "7 overlapping holds when links came and went", ""},
		{[]result.Row{row("flap", 7, 0), row("jitter", 3, 2)}, "at worst 7 when links came and went (also under jitter: 3, of which no fault touched 2)", ""},
	} {
		if said := fmt.Sprint(inOneSentence(say, append(c.rows, row("kill", 0, 0)), c.rows)); !strings.Contains(said, c.said) {
			t.Errorf("%q, want %q in it", said, c.said)
		}
		f, _ := result.Lookup("overlaps")
		if cell := answerCellOf(say, f, c.rows); cell.Elsewhere != c.cell {
			t.Errorf("besides, the cell says %q, want %q", cell.Elsewhere, c.cell)
		}
	}
	said := fmt.Sprint(cellOf(say, row("flap", 7, 2), violationOf([]result.Row{row("flap", 7, 2)})).Lines)
	if !strings.Contains(said, "no fault touched") {
		t.Errorf("the cell of the scenario says %s", said)
	}
}

// TestWhatWasNotMeasuredHasNoFigures: a run that was given up before its measured part failed no request,
// and has no place in a plot.
func TestWhatWasNotMeasuredHasNoFigures(t *testing.T) {
	zero := int64(0)
	r := result.Row{Lock: "raft", Scenario: "cut", Workload: "matchmaking", Repeats: 1, StallMS: new(0.0), Duplicates: &result.Duplicates{}, Overlaps: &zero}
	r.Verdict.Status = result.StatusInconclusive
	for _, f := range result.Figures() {
		if v, has := f.Of(r); has && f.Field != "repeats" {
			t.Errorf("%s is %v", f.ShortName(), v)
		}
	}
	r.Measure("holds_lost", 0)
	path := filepath.Join(t.TempDir(), result.FileName)
	if err := result.Write(path, result.File{Schema: result.Schema, Results: []result.Row{r}}); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Read(path); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	if plot := tradeoffOf(lang.English(), []result.Row{r}, inksOf([]result.Row{r})); strings.Contains(string(plot.SVG), "100.0%") {
		t.Errorf("the plot has it at a place: %s", plot.SVG)
	}
	r.Duplicates.Warmup = 2 // what was seen is said
	if n, has := figureOfField(r, "duplicates.warmup"); !has || n != 2 {
		t.Errorf("the duplicates of the warm-up are gone: %v %v", n, has)
	}
}

func figureOfField(r result.Row, field string) (float64, bool) {
	f, _ := result.Lookup(field)
	return f.Of(r)
}
