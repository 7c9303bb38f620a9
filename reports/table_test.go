package reports_test

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"locklab/reports"
	"locklab/reports/result"
)

func sampleFile(t *testing.T) result.File {
	t.Helper()
	f, err := result.Read(filepath.Join("testdata", "run", result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func table(t *testing.T, f result.File, width int, options ...reports.TableOption) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.Table(&out, f, width, options...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	f := sampleFile(t)
	golden(t, "table-100.txt", []byte(table(t, f, 100)))
	golden(t, "table-60.txt", []byte(table(t, f, 60)))
	golden(t, "headline.txt", []byte(strings.Join(reports.Headline(f), "\n")+"\n"))
	if plain, colour := table(t, f, 100), table(t, f, 100, reports.WithColour()); strings.Contains(plain, "\x1b") || !strings.Contains(colour, "\x1b[32m") {
		t.Error("colours must come only when they are asked for")
	}
}

func TestTableFitsItsWidth(t *testing.T) {
	f := sampleFile(t)
	f.Results[0].Lock = "redlock:order=sequential,retry=fixed,persistence=everysec"
	f.Results[1].AchievedPerS = 123456789
	for width := 60; width <= 140; width += 7 {
		text := table(t, f, width)
		for line := range strings.Lines(text[strings.Index(text, "\n"):]) { // the first line explains
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("a line of %d columns where %d were allowed: %q", n, width, line)
			}
		}
	}
}

func TestTableAndHeadlineTakeAnything(t *testing.T) {
	nan := math.NaN()
	for name, f := range map[string]result.File{
		"nothing":  {},
		"bare row": {Results: []result.Row{{}}},
		"no number": {Results: []result.Row{{
			Lock: "a", Scenario: "b", Workload: "c", Availability: nan, OfferedPerS: math.Inf(1), AchievedPerS: nan,
			LatencyMS: &result.Quantiles{P50: nan, P99: nan}, StallMS: &nan, DuplicatesPer1000: &nan, Duplicates: &result.Duplicates{},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			text := table(t, f, 100) + strings.Join(reports.Headline(f), "\n")
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("no number was shown as one:\n%s", text)
			}
		})
	}
}

func TestHeadline(t *testing.T) {
	row := func(lock, scenario, status string, change func(*result.Row)) result.Row {
		r := result.Row{
			Lock: lock, Scenario: scenario, Workload: "matchmaking", Matches: 1000, Availability: 1,
			Verdict: result.Verdict{
				Status: status, Safety: "safe", Liveness: "live",
				Expected: result.Expected{Safety: "safe", Liveness: []string{"live"}},
			}, Duplicates: &result.Duplicates{},
		}
		if change != nil {
			change(&r)
		}
		return r
	}
	six := 6100.0
	for name, test := range map[string]struct {
		file result.File
		want []string
	}{
		"nothing":     {result.File{}, []string{"There are no results."}},
		"interrupted": {result.File{Run: result.Run{Interrupted: true}, Results: []result.Row{row("a", "b", "", nil)}}, []string{"interrupted", "1 of 1 verdict is missing. a under b."}},
		"violated": {
			result.File{Results: []result.Row{row("raft", "zone-partition", result.StatusViolated, func(r *result.Row) {
				r.Verdict.Why, r.Duplicates = "2 duplicates.", &result.Duplicates{Total: 2, Raced: 2}
			})}},
			[]string{"1 of 1 verdict is not as expected. raft under zone-partition: 2 duplicates.", "raft under zone-partition: 2 duplicates (2.00 per 1,000 matches); every request was served."},
		},
		"silent": {
			result.File{Results: []result.Row{row("none", "baseline", result.StatusControlSilent, nil)}},
			[]string{"is that of a control that stayed silent. none under baseline."},
		},
		"down": {
			result.File{Results: []result.Row{
				row("raft", "zone-failure", result.StatusExpected, func(r *result.Row) { r.Verdict.Liveness, r.StallMS = "down", &six }),
				row("multiphase", "zone-failure", result.StatusExpected, nil),
			}},
			[]string{
				"All 2 verdicts are as expected.",
				"raft under zone-failure: no duplicate that a lock can prevent; every request was served; the longest time without a grant while somebody waited was 6.1 s.",
				"multiphase under zone-failure: no duplicate that a lock can prevent; every request was served.",
			},
		},
		"unreachable": {
			result.File{Results: []result.Row{row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) { r.Duplicates = &result.Duplicates{Total: 4, Unreachable: 4} })}},
			[]string{"raft under zone-partition: no duplicate that a lock can prevent, 4 that no lock can prevent, because the other room's worker could not be reached; every request was served."},
		},
		"the same of every lock": {
			result.File{Results: []result.Row{
				row("multiphase", "baseline", result.StatusExpected, nil),
				row("multiphase", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates = "unsafe", &result.Duplicates{Total: 62, Raced: 28, Unreachable: 34, Warmup: 1}
					r.LatencyMS = &result.Quantiles{P99: 12}
				}),
				row("redlock", "baseline", result.StatusExpected, nil),
				row("redlock", "zone-partition", result.StatusInconclusive, func(r *result.Row) {
					r.Duplicates = &result.Duplicates{Total: 4, Unreachable: 4}
					r.Availability, r.LatencyMS = 0.704, &result.Quantiles{P99: 31}
				}),
			}},
			[]string{
				"multiphase: 29 duplicates under zone-partition (28.0 per 1,000 matches; 1 of them in the warm-up), in 1 of 2 scenarios, " +
					"34 that no lock can prevent under zone-partition, because the other room's worker could not be reached; " +
					"every request was served; p99 12.0 ms under zone-partition.",
				"redlock: no duplicate that a lock can prevent in 2 scenarios, 4 that no lock can prevent under zone-partition, " +
					"because the other room's worker could not be reached; 29.6% of the requests were not served under zone-partition; " +
					"p99 31.0 ms under zone-partition (of the 70.4% that were served). Inconclusive: zone-partition.",
			},
		},
		"cost": {
			result.File{Results: []result.Row{
				row("none", "baseline", result.StatusExpected, func(r *result.Row) { r.LatencyMS = &result.Quantiles{P50: 1, P99: 2} }),
				row("raft", "baseline", result.StatusExpected, func(r *result.Row) { r.LatencyMS = &result.Quantiles{P50: 2, P99: 9} }),
			}},
			[]string{"a request without a lock (none) took 1.00 ms at p50 and 2.00 ms at p99", "raft 9.00 ms (4.5×)"},
		},
		"overlaps": {
			result.File{Results: []result.Row{row("none", "baseline", result.StatusExpected, func(r *result.Row) {
				n := int64(3)
				r.Duplicates, r.Overlaps, r.Matches = nil, &n, 0
			})}},
			[]string{"none under baseline: 3 overlapping holds; every request was served."},
		},
		"not judged": {
			result.File{Results: []result.Row{
				row("raft", "mine", result.StatusExpected, nil),
				row("redlock", "mine", result.StatusNotJudged, func(r *result.Row) {
					r.Verdict.Safety, r.Verdict.Expected = result.SafetyNotJudged, result.Expected{}
				}),
			}},
			[]string{
				"The one verdict is as expected.", "1 of 2 rows is not judged, because the scenario expects nothing of the lock: redlock under mine.",
				"raft under mine: no duplicate that a lock can prevent; every request was served.",
				"redlock under mine: whether it is safe was not judged; every request was served.",
			},
		},
		"safety not judged": {
			result.File{Results: []result.Row{
				row("raft", "baseline", result.StatusExpected, nil),
				row("raft", "holder-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Verdict.Expected.Safety = result.SafetyNotJudged, ""
				}),
				row("redlock", "holder-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Verdict.Expected.Safety = "unsafe", ""
					r.Duplicates = &result.Duplicates{Total: 2, Raced: 2}
				}),
			}},
			[]string{
				"raft: no duplicate that a lock can prevent; every request was served. Safety was not judged under holder-pause.",
				"redlock: 2 duplicates under holder-pause (2.00 per 1,000 matches); every request was served.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := strings.Join(reports.Headline(test.file), "\n")
			for _, part := range test.want {
				if !strings.Contains(have, part) {
					t.Errorf("the headline does not say %q:\n%s", part, have)
				}
			}
		})
	}
}
