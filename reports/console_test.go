package reports_test

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"locklab/internal/sentence"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
)

func table(t *testing.T, f result.File, width int, colour bool) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.Summary(&out, lang.English(), f, width, colour); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	f := files(t, filepath.Join("testdata", "run"))[0]
	golden(t, "summary-100.txt", []byte(table(t, f, 100, false)))
	golden(t, "summary-80.txt", []byte(table(t, f, 80, false)))
	if narrow := table(t, f, 60, false); !strings.Contains(narrow, "Too wide for this console, and in the report: ") {
		t.Errorf("columns are left out, and nobody is told:\n%s", narrow)
	}
	if plain, colour := table(t, f, 100, false), table(t, f, 100, true); strings.Contains(plain, "\x1b") || !strings.Contains(colour, "\x1b[32m") {
		t.Error("colours must come only when they are asked for")
	}
}

func TestTableFitsItsWidth(t *testing.T) {
	f := files(t, filepath.Join("testdata", "run"))[0]
	f.Results[0].Lock = "redlock:order=sequential,retry=fixed,persistence=everysec"
	f.Results[1].AchievedPerS = 123456789
	for width := 60; width <= 140; width += 7 {
		text := table(t, f, width, false)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && strings.Count(line, " ") > 3 { // not one long word
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
			text := table(t, f, 100, false) + strings.Join(reports.Headline(lang.English(), f), "\n")
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("no number was shown as one:\n%s", text)
			}
		})
	}
}

// TestInconclusiveIsNotCalledSafe, or live: nothing was seen, and nothing decided. A crossed
// --fail-on does not change that.
func TestInconclusiveIsNotCalledSafe(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			f.Results[i].Verdict.Status = result.StatusInconclusive
		}
		v := &f.Results[2].Verdict // --fail-on makes no evidence of it
		v.KeepOwn()
		v.Status, v.FailedOns = result.StatusViolated, []string{"holds>0"}
		f.Results = f.Results[1:3]
	})
	generate(t, []string{dir}, "")
	text, said := table(t, files(t, dir)[0], 100, false), string(read(t, dir, reports.MarkdownFile))
	said, _, _ = strings.Cut(said, "How to read")
	for where, said := range map[string]string{"console": text, "report": said} {
		if said = strings.ReplaceAll(said, "✓ no user notices it", ""); strings.Contains(said, "✓") {
			t.Errorf("the %s calls something good:\n%s", where, said)
		}
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
	stored := func(r *result.Row, writes, checked, refused, tokens, stale float64) {
		r.Workload, r.Duplicates, r.Matches, r.OfferedPerS = "fenced-write", nil, 0, 10
		for field, n := range map[string]float64{
			"writes": writes, "checked_writes": checked, "fenced_writes": refused, "token_grants": tokens, "stale_writes": stale, "lost_updates": 0,
		} {
			r.Measure(field, n)
		}
	}
	six := 6100.0
	spread := func(ms, of float64) func(*result.Row) {
		return func(r *result.Row) {
			r.LatencyMS, r.AcquireMS = &result.Quantiles{P50: ms / 2, P99: ms}, &result.Quantiles{P50: ms / 2, P99: ms}
			one := result.RepeatOf(*r)
			one.Spread = map[string]float64{"latency_ms.p99": of, "acquire_ms.p50": of / 2}
			r.PerRepeat = []result.Repeat{one}
		}
	}
	used := func(ms, others float64) func(*result.Row) {
		return func(r *result.Row) {
			r.Hosts = []result.HostLoad{{CPUOthers: &others}}
			spread(ms, 0.1)(r)
		}
	}
	saturated := func(lock string, slowdown float64, duplicates int64) result.Row {
		return row(lock, "b", result.StatusInconclusive, func(r *result.Row) {
			why := sentence.Of("work took %.1f times as long", slowdown)
			if duplicates > 0 {
				why = sentence.Of("%s; there were %s", why, sentence.Count(duplicates, "1 duplicate", "%d duplicates"))
			}
			r.Verdict.Say(why)
		})
	}
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
			[]string{"1 of 1 verdict is not as expected. raft under zone-partition: 2 duplicates.", "raft: 2 duplicates (2.00 per 1,000 matches) with nothing broken; every request was served."},
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
				"The lab's own check: all 2 verdicts are as expected.",
				"raft: no raced or overlooked duplicate was seen; every request was served; nobody got the lock for 6.1 s with nothing broken.",
				"multiphase: no raced or overlooked duplicate was seen; every request was served.",
			},
		},
		"a full machine, and what was seen on it": {
			result.File{Results: []result.Row{row("redlock", "zone-partition", result.StatusInconclusive, func(r *result.Row) {
				r.Verdict.Say(sentence.Of("%s. That may be the machine's doing: %s",
					sentence.Of("expected %s, but what was seen is %s: the longest time in which somebody wanted the lock and nobody got it was %v", sentence.Term("live"), sentence.Term("down"), 1900*time.Millisecond),
					sentence.Of("work took %.1f times as long", 4.2)))
			})}},
			[]string{"redlock under zone-partition: expected live, but what was seen is down: the longest time in which somebody wanted the lock and nobody got it was 1.9 s. That may be the machine's doing: work took 4.2 times as long."},
		},
		"unreachable": {
			result.File{Results: []result.Row{row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) { r.Duplicates = &result.Duplicates{Total: 4, Unreachable: 4} })}},
			[]string{"raft: no raced or overlooked duplicate was seen; besides, 4 unreachable duplicates with nothing broken, the price of going on while cut off; every request was served."},
		},
		"the same of every lock": {
			result.File{Results: []result.Row{
				row("multiphase", "baseline", result.StatusExpected, nil),
				row("multiphase", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates = "unsafe", &result.Duplicates{Total: 62, Raced: 28, Unreachable: 34, Warmup: 1}
					r.Faults = []result.Fault{{Kind: "partition"}}
				}),
				row("redlock", "baseline", result.StatusExpected, nil),
				row("redlock", "zone-partition", result.StatusInconclusive, func(r *result.Row) {
					r.Duplicates = &result.Duplicates{Total: 4, Unreachable: 4}
					r.Availability, r.LatencyMS = 0.704, &result.Quantiles{P99: 31}
				}),
			}},
			[]string{
				"multiphase: 29 duplicates (1 in the warm-up and 28 measured, 28.0 per 1,000 matches) when the network was cut, in 1 of 2 scenarios; " +
					"besides, 34 unreachable duplicates there, the price of going on while cut off; every request was served.",
				"redlock: no raced or overlooked duplicate was seen in 2 scenarios; besides, 4 unreachable duplicates under zone-partition, the price of going on while cut off; " +
					"under zone-partition 29.6% of the requests failed. Inconclusive: zone-partition.",
			},
		},
		"holds that do not last": {
			result.File{Results: []result.Row{row("raft", "baseline", result.StatusExpected, func(r *result.Row) { r.Measure("holds_lost", 176) })}},
			[]string{"every request was served; 176 holds were lost with nothing broken."},
		},
		"cost": {
			result.File{Results: []result.Row{
				row("none", "baseline", result.StatusExpected, func(r *result.Row) { r.LatencyMS = &result.Quantiles{P50: 1, P99: 2} }),
				row("raft", "baseline", result.StatusExpected, func(r *result.Row) { r.LatencyMS = &result.Quantiles{P50: 2, P99: 9} }),
			}},
			[]string{"a request without a lock (none) took 1 ms at p50 and 2 ms at p99", "raft 9 ms (4.5×)"},
		},
		"cost within noise": {
			result.File{Results: []result.Row{
				row("none", "baseline", result.StatusExpected, spread(2, 0.1)),
				row("local", "baseline", result.StatusExpected, spread(1.8, 0.1)),
				row("raft", "baseline", result.StatusExpected, spread(9, 0.1)),
			}},
			[]string{
				"local 1.80 ms (0.9×, noise) and raft 9 ms (4.5×). Noise: the spread within the runs (block bootstrap) explains the difference,",
				"local 0.90 ms (0.79 ms to 1.01 ms) and raft 4.50 ms (4.39 ms to 4.61 ms). In brackets: the interval by the spread within the run",
			},
		},
		"every harm, the worst first": {
			result.File{Results: []result.Row{
				row("raft", "baseline", result.StatusExpected, nil),
				row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.Availability, r.LatencyMS, r.Faults = 0.782, &result.Quantiles{P99: 1200}, []result.Fault{{Kind: "partition"}}
				}),
				row("raft", "link-flap", result.StatusExpected, func(r *result.Row) {
					r.LatencyMS, r.Faults = &result.Quantiles{P99: 2000}, []result.Fault{{Kind: "flap"}}
				}),
				row("raft", "kill", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.98, []result.Fault{{Kind: "kill"}} }),
				row("raft", "zone-failure", result.StatusExpected, func(r *result.Row) {
					r.Availability, r.StallMS, r.Faults = 0.7, &six, []result.Fault{{Kind: "zone-failure", Target: "zone:a"}}
					r.Nodes = []result.NodeLoad{
						{Node: "raft-a-1", Role: "raft", Zone: "a"},
						{Node: "raft-a-2", Role: "raft", Zone: "a"},
						{Node: "raft-c", Role: "raft", Zone: "c"},
						{Node: "master-c", Role: "master", Zone: "c"},
						{Node: "worker-c", Role: "worker", Zone: "c"},
					}
				}),
			}},
			[]string{
				"raft: no raced or overlooked duplicate was seen in 5 scenarios; when the zone with the majority of its servers died 30.0% of the requests failed; nobody got the lock for 6.1 s; " +
					"when the network was cut: 21.8% of the requests failed, request p99 1.2 s; when a process was killed: 2.0% of the requests failed; users were harmed in 1 more scenario.",
			},
		},
		"a zone died that had no majority": {
			result.File{Results: []result.Row{row("raft", "zone-failure", result.StatusExpected, func(r *result.Row) {
				r.Availability, r.Faults = 0.7, []result.Fault{{Kind: "zone-failure", Target: "zone:c"}}
				r.Nodes = []result.NodeLoad{{Node: "a", Role: "raft", Zone: "a"}, {Node: "b", Role: "raft", Zone: "a"}, {Node: "c", Role: "raft", Zone: "c"}}
			})}},
			[]string{"when a zone died 30.0% of the requests failed."},
		},
		"overlaps": {
			result.File{Results: []result.Row{row("none", "baseline", result.StatusExpected, func(r *result.Row) {
				n := int64(3)
				r.Duplicates, r.Overlaps, r.Matches = nil, &n, 0
			})}},
			[]string{"none: 3 overlapping holds with nothing broken; every request was served."},
		},
		"two scenarios of the same kind, told of two locks": {
			result.File{Results: []result.Row{
				row("multiphase", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.Duplicates, r.Faults = &result.Duplicates{Total: 4, Raced: 4}, []result.Fault{{Kind: "partition"}}
				}),
				row("multiphase", "one-way", result.StatusExpected, func(r *result.Row) { r.Faults = []result.Fault{{Kind: "partition"}} }),
				row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) { r.Faults = []result.Fault{{Kind: "partition"}} }),
				row("raft", "one-way", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.7, []result.Fault{{Kind: "partition"}} }),
			}},
			[]string{"multiphase: 4 duplicates (4.00 per 1,000 matches) under zone-partition, in 1 of 2 scenarios; ", "under one-way 30.0% of the requests failed"},
		},
		"duplicates in some scenarios": {
			result.File{Results: []result.Row{
				row("multiphase", "baseline", result.StatusExpected, nil),
				row("multiphase", "cut", result.StatusExpected, func(r *result.Row) {
					r.Matches, r.Duplicates, r.Faults = 0, &result.Duplicates{Total: 15, Raced: 15}, []result.Fault{{Kind: "latency"}}
				}),
				row("multiphase", "holder-pause", result.StatusExpected, func(r *result.Row) { r.Duplicates = &result.Duplicates{Total: 3, Raced: 3} }),
			}},
			[]string{"multiphase: duplicates in 2 of 3 scenarios, at worst 15 when the network was slow (also under holder-pause: 3); every"},
		},
		"unsafe by what is not counted": {
			result.File{Results: []result.Row{row("redlock", "baseline", result.StatusViolated, func(r *result.Row) { r.Verdict.Safety = result.Unsafe })}},
			[]string{"redlock: no raced or overlooked duplicate was seen, but it was unsafe under baseline (see the verdict there); "},
		},
		"unsafe by overlaps alone": {
			result.File{Results: []result.Row{row("none", "holder-kill", result.StatusExpected, func(r *result.Row) {
				n := int64(93)
				r.Verdict.Safety, r.Overlaps = result.Unsafe, &n
			})}},
			[]string{"none: no raced or overlooked duplicate was seen, with 93 overlapping holds with nothing broken; "},
		},
		"one zone without the lock": {
			result.File{Results: []result.Row{row("redlock", "zone-partition", result.StatusExpected, func(r *result.Row) {
				zone, all := 2876.0, 255.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled = &all, &zone, "c"
			})}},
			[]string{"zone c got no lock for 2.9 s with nothing broken"},
		},
		"some without the lock, and one zone for longer": {
			result.File{Results: []result.Row{row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) {
				zone, all := 2918.0, 1038.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled = &all, &zone, "c"
			})}},
			[]string{"nobody got the lock for 1.0 s, and zone c got none for 2.9 s with nothing broken"},
		},
		"a zone's outage that began before the fault": {
			result.File{Results: []result.Row{row("redis", "holder-kill", result.StatusExpected, func(r *result.Row) {
				zone, all := 4300.0, 255.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled, r.Faults = &all, &zone, "c", []result.Fault{{Kind: "kill", Target: "holder (m)", Nodes: []string{"m"}, Proven: true}}
				r.Measure(result.ZoneStallBefore, 1250)
			})}},
			[]string{"zone c got no lock for 4.3 s (1.2 s of it before the fault) when the one that held it was killed."},
		},
		"an outage before the fault, and the lock down in it": {
			result.File{Results: []result.Row{row("redis", "cut", result.StatusExpected, func(r *result.Row) {
				stall, all := 3000.0, 1.0
				r.StallMS, r.Acquired, r.RecoveryMS, r.Verdict.Liveness, r.Faults = &stall, &all, new(5.0), "down", []result.Fault{{Kind: "latency"}}
				r.Measure(result.StallBefore, 3000)
			})}},
			[]string{"nobody got the lock for 3 s before the fault, nor until it was over when the network was slow."},
		},
		"an outage before the fault that nobody notices": {
			result.File{Results: []result.Row{row("redis", "cut", result.StatusExpected, func(r *result.Row) {
				stall := 3000.0
				r.StallMS, r.Faults = &stall, []result.Fault{{Kind: "latency"}}
				r.Measure(result.StallBefore, 20)
			})}},
			[]string{"nobody got the lock for 3 s when the network was slow."},
		},
		"an outage that the end of the run cut off": {
			result.File{Results: []result.Row{row("redis", "cut", result.StatusExpected, func(r *result.Row) {
				stall, all, zone := 1200.0, 1.0, 1500.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled, r.Acquired, r.RecoveryMS, r.Verdict.Liveness, r.Verdict.ShortFault = &stall, &zone, "c", &all, new(5.0), "down", true
				r.Faults = []result.Fault{{Kind: "latency", AskedMS: 500, EndedMS: 1600}}
				r.Measure(result.StallOpen, 1)
				r.Measure(result.ZoneStallOpen, 1)
			})}},
			[]string{"nobody got the lock for at least 1.2 s, to the end of the measured part (too short a fault to tell whether it would have come back before), and zone c got none for at least 1.5 s, to the end of the measured part when the network was slow."},
		},
		"an outage that the end of another run cut off": {
			result.File{Results: []result.Row{
				row("redis", "holder-pause", result.StatusExpected, func(r *result.Row) { r.StallMS = new(1379.0) }),
				row("redis", "holder-kill", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Faults = new(1275.0), []result.Fault{{Kind: "latency"}}
					r.Measure(result.StallOpen, 1)
				}),
			}},
			[]string{"nobody got the lock for 1.4 s with nothing broken; when the network was slow: nobody got the lock for at least 1.2 s, to the end of the measured part."},
		},
		"an outage of all that one of a zone is longer than": {
			result.File{Results: []result.Row{
				row("redis", "cut", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.ZoneStallMS, r.ZoneStalled, r.Availability, r.Faults = new(2600.0), new(4700.0), "a", 0.766, []result.Fault{{Kind: "partition"}}
				}),
				row("redis", "slow", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Availability, r.Faults = new(3200.0), 0.439, []result.Fault{{Kind: "latency"}}
				}),
			}},
			[]string{"when the network was slow 56.1% of the requests failed; nobody got the lock for 3.2 s; when the network was cut: 23.4% of the requests failed, nobody got the lock for 2.6 s, and zone a got none for 4.7 s."},
		},
		"an outage of all where few requests failed": {
			result.File{Results: []result.Row{
				row("redis", "cut", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.ZoneStallMS, r.ZoneStalled, r.Availability, r.Faults = new(2600.0), new(4700.0), "a", 0.4, []result.Fault{{Kind: "partition"}}
				}),
				row("redis", "flap", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.5, []result.Fault{{Kind: "flap"}} }),
				row("redis", "reset", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.6, []result.Fault{{Kind: "pause"}} }),
				row("redis", "slow", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Availability, r.Faults = new(3200.0), 0.9, []result.Fault{{Kind: "latency"}}
				}),
			}},
			[]string{"zone a got none for 4.7 s; when the network was slow: 10.0% of the requests failed, nobody got the lock for 3.2 s; "},
		},
		"requests that failed although no fault touched them": {
			result.File{Results: []result.Row{row("redis", "cut", result.StatusExpected, func(r *result.Row) {
				outside, inForce := 0.939, 0.815
				r.Availability, r.AvailabilityOutside, r.AvailabilityInForce, r.Faults = 0.926, &outside, &inForce, []result.Fault{{Kind: "latency"}}
			})}},
			[]string{"when the network was slow 7.4% of the requests failed (18.5% of those while the fault lasted, 6.1% of those that no fault touched)."},
		},
		"two scenarios of the same kind, and one told of before": {
			result.File{Results: []result.Row{
				row("redis", "holder-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Availability, r.Faults = result.Unsafe, 0.985, []result.Fault{{Kind: "pause", Target: "holder (m)", Nodes: []string{"m"}, Proven: true}}
					r.Duplicates = &result.Duplicates{Total: 4, Raced: 4}
				}),
				row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Availability, r.Faults = 0.5, []result.Fault{{Kind: "pause", Target: "holder (m)", Nodes: []string{"m"}, Proven: true}}
				}),
				row("redis", "slow", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.6, []result.Fault{{Kind: "latency"}} }),
				row("redis", "cut", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.7, []result.Fault{{Kind: "partition"}} }),
				row("redis", "flap", result.StatusExpected, func(r *result.Row) { r.Availability, r.Faults = 0.8, []result.Fault{{Kind: "flap"}} }),
			}},
			[]string{
				"redis: 4 duplicates (4.00 per 1,000 matches) under holder-pause, in 1 of 5 scenarios; under granted-pause 50.0% of the requests failed; " +
					"when the network was slow: 40.0% of the requests failed; when the network was cut: 30.0% of the requests failed; users were harmed in 1 more scenario.",
			},
		},
		"fencing off": {
			result.File{Results: []result.Row{row("raft", "granted-pause", result.StatusExpected, func(r *result.Row) { stored(r, 20, 0, 0, 25, 1) })}},
			[]string{"raft: 1 stale write with nothing broken; fencing was off, so that the store checked no write; every"},
		},
		"fencing on": {
			result.File{Results: []result.Row{row("raft", "granted-pause", result.StatusExpected, func(r *result.Row) { stored(r, 20, 21, 1, 25, 0) })}},
			[]string{"raft: no stale write was seen; 1 late write was refused with nothing broken; every"},
		},
		"no tokens": {
			result.File{Results: []result.Row{row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) { stored(r, 20, 0, 0, 0, 1) })}},
			[]string{"redis: 1 stale write with nothing broken; it has no fencing tokens, so that the store checked no write; every"},
		},
		"nothing late with fencing on": {
			result.File{Results: []result.Row{row("raft", "granted-pause", result.StatusExpected, func(r *result.Row) { stored(r, 20, 20, 0, 25, 0) })}},
			[]string{"raft: no stale write was seen; every"},
		},
		"too short a fault to tell": {
			result.File{Results: []result.Row{row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) {
				stall, all := 1100.0, 1.0
				r.StallMS, r.Acquired, r.RecoveryMS, r.Verdict.Liveness, r.Verdict.ShortFault = &stall, &all, new(5.0), "down", true
				r.Faults = []result.Fault{{Kind: "latency"}}
			})}},
			[]string{"nobody got the lock for 1.1 s, until the fault was over (too short a fault to tell whether it would have come back before) when the network was slow."},
		},
		"one zone without the lock for little longer than all": {
			result.File{Results: []result.Row{row("raft", "zone-partition", result.StatusExpected, func(r *result.Row) {
				zone, all := 3490.0, 3350.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled = &all, &zone, "c"
			})}},
			[]string{"nobody got the lock for 3.4 s with nothing broken."},
		},
		"a second in one zone, and a little less for all": {
			result.File{Results: []result.Row{row("redlock", "zone-partition", result.StatusExpected, func(r *result.Row) {
				zone, all := 1100.0, 948.0
				r.StallMS, r.ZoneStallMS, r.ZoneStalled = &all, &zone, "c"
			})}},
			[]string{"zone c got no lock for 1.1 s with nothing broken."},
		},
		"down for all of a short fault": {
			result.File{Results: []result.Row{row("lamport", "zone-failure", result.StatusExpected, func(r *result.Row) {
				most, all := 683.0, 1.0
				r.StallMS, r.Acquired, r.Verdict.Liveness, r.Faults = &most, &all, "down", []result.Fault{{Kind: "zone-failure"}}
				r.RecoveryMS = new(5.0)
			})}},
			[]string{"every request was served; nobody got the lock for 683 ms, until the fault was over when a zone died."},
		},
		"down for longer than the fault": {
			result.File{Results: []result.Row{row("raft", "zone-failure", result.StatusExpected, func(r *result.Row) {
				most, all := 3400.0, 1.0
				r.StallMS, r.Acquired, r.Verdict.Liveness, r.Faults = &most, &all, "down", []result.Fault{{Kind: "zone-failure", AskedMS: 2400, EndedMS: 5339}}
				r.RecoveryMS, r.Repeats = new(539.0), 1
			})}},
			[]string{"nobody got the lock for 3.4 s, longer than the fault lasted"},
		},
		"one resource for longer": {
			result.File{Results: []result.Row{row("redlock", "baseline", result.StatusExpected, func(r *result.Row) {
				most, all := 3391.0, 1.0
				r.StallMS, r.Acquired, r.StallResource = &most, &all, "g16"
			})}},
			[]string{"nobody got g16 for 3.4 s with nothing broken."},
		},
		"a zone, and one resource for about as long": {
			result.File{Results: []result.Row{row("redis", "one-way", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.StallResource, r.ZoneStallMS, r.ZoneStalled, r.Acquired = new(1900.0), "g4", new(2060.0), "c", new(0.8)
				r.Measure(result.LockStallField, 150)
			})}},
			[]string{"every request was served; zone c got no lock for 2.1 s, and nobody got g4 for 1.9 s with nothing broken."},
		},
		"a zone that reads as long as a resource, but for its floor": {
			result.File{Results: []result.Row{row("redlock", "holder-kill", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.StallResource, r.ZoneStallMS, r.ZoneStalled, r.Acquired = new(1223.0), "r1", new(1152.3), "a", new(0.8)
				r.Measure(result.LockStallField, 150)
				r.Measure(result.StallOpen, 1)
				r.Measure(result.ZoneStallOpen, 1)
			})}},
			[]string{"zone a got no lock for at least 1.1 s, to the end of the measured part, and nobody got r1 for at least 1.2 s, to the end of the measured part"},
		},
		"a zone, and one resource for a little longer": {
			result.File{Results: []result.Row{row("redis", "one-way", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.StallResource, r.ZoneStallMS, r.ZoneStalled, r.Acquired = new(2600.0), "g4", new(2060.0), "c", new(0.8)
				r.Measure(result.LockStallField, 150)
			})}},
			[]string{"zone c got no lock for 2.1 s, and nobody got g4 for 2.6 s with nothing broken."},
		},
		"all, a zone and one resource": {
			result.File{Results: []result.Row{row("redis", "one-way", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.StallResource, r.ZoneStallMS, r.ZoneStalled, r.Acquired = new(2600.0), "g4", new(2060.0), "c", new(0.8)
				r.Measure(result.LockStallField, 1500)
				r.Measure(result.LockStallOpen, 1)
			})}},
			[]string{"nobody got the lock for at least 1.5 s, to the end of the measured part, and zone c got none for 2.1 s, and nobody got g4 for 2.6 s with nothing broken."},
		},
		"overlapping holds where there were no duplicates": {
			result.File{Results: []result.Row{
				row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, &result.Duplicates{Total: 1, Raced: 1}, new(int64(3))
				}),
				row("redis", "redis-restart", result.StatusExpected, func(r *result.Row) { r.Verdict.Safety, r.Overlaps = result.Unsafe, new(int64(38)) }),
				row("redis", "holder-pause", result.StatusExpected, func(r *result.Row) { r.Verdict.Safety, r.Overlaps = result.Unsafe, new(int64(2)) }),
			}},
			[]string{"in 1 of 3 scenarios, with 38 overlapping holds under redis-restart (also under holder-pause: 2); "},
		},
		"violations where nothing had to show": {
			result.File{Results: []result.Row{
				row("redis", "baseline", result.StatusExpected, func(r *result.Row) { r.Duplicates = nil; r.Measure("stale_writes", 0) }),
				row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates = result.SafetyNotJudged, nil
					r.Measure("stale_writes", 3)
				}),
			}},
			[]string{"redis: 3 stale writes under granted-pause, in 1 of 2 scenarios; "},
		},
		"unsafe in several scenarios by what is not counted": {
			result.File{Results: []result.Row{
				row("raft", "a", result.StatusExpected, func(r *result.Row) { r.Verdict.Safety = result.Unsafe }),
				row("raft", "b", result.StatusExpected, func(r *result.Row) { r.Verdict.Safety = result.Unsafe }),
			}},
			[]string{", but it was unsafe under a and b (see the verdicts there); "},
		},
		"the longer outage of an undecided row": {
			result.File{Results: []result.Row{
				row("redlock", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.ZoneStallMS, r.ZoneStalled, r.Acquired, r.Faults = new(198.0), new(2800.0), "c", new(0.8), []result.Fault{{Kind: "partition"}}
					r.Availability = 0.9
				}),
				row("redlock", "zone-failure", result.StatusInconclusive, func(r *result.Row) {
					r.StallMS, r.Availability, r.Acquired, r.Faults = new(1500.0), 0.95, new(0.8), []result.Fault{{Kind: "zone-failure"}}
				}),
			}},
			[]string{"when the network was cut 10.0% of the requests failed; zone c got no lock for 2.8 s; nobody got the lock for 1.5 s when a zone died. Inconclusive"},
		},
		"what else a scenario harmed stands beside its failures": {
			result.File{Results: []result.Row{
				row("redis", "zone-failure", result.StatusExpected, func(r *result.Row) {
					r.Availability, r.Acquired, r.Faults, r.LatencyMS = 0.4, new(0.8), []result.Fault{{Kind: "zone-failure"}}, &result.Quantiles{P50: 1, P99: 4000}
				}),
				row("redis", "baseline", result.StatusExpected, func(r *result.Row) { r.Measure("holds_lost", 7) }),
			}},
			[]string{"when a zone died 60.0% of the requests failed; request p99 4 s; 7 holds were lost with nothing broken."},
		},
		"servers without their data": {
			result.File{Results: []result.Row{
				row("redlock", "zone-failure", result.StatusExpected, func(r *result.Row) {
					r.Faults = []result.Fault{{Kind: "zone-failure", EndedMS: 5700, KeptMS: 410}}
				}),
				row("redlock", "restart-delayed", result.StatusExpected, func(r *result.Row) {
					r.Faults = []result.Fault{{Kind: "restart", EndedMS: result.Never, KeptMS: 3200}}
				}),
			}},
			[]string{" Under zone-failure servers that had lost their data were kept away for up to 410 ms after the order to heal, so that they grant nothing twice." +
				" Under restart-delayed servers that had lost their data were kept away to the end of the run, so that they grant nothing twice."},
		},
		"what was broken was not back": {
			result.File{Results: []result.Row{row("redlock", "zone-failure", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.Availability, r.Acquired, r.MeasuredMS = new(2700.0), 0.337, new(0.8), 4000
				r.Faults = []result.Fault{{Kind: "zone-failure", AskedMS: 1200, BeganMS: 1203, EndedMS: result.Never}}
				r.Measure(result.StallOpen, 1)
			})}},
			[]string{"66.3% of the requests failed, and not all that was broken was back by the end of the measured part; nobody got the lock for at least 2.7 s"},
		},
		"there is where was told last": {
			result.File{Results: []result.Row{
				row("redlock", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates = result.Unsafe, nil
					r.Measure("stale_writes", 1)
					r.Measure("lost_updates", 69)
				}),
				row("redlock", "late-release", result.StatusExpected, func(r *result.Row) { r.Duplicates = nil; r.Measure("stale_writes", 0) }),
				row("redlock", "redis-drift", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(19))
					r.Measure("lost_updates", 69)
				}),
				row("redis", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(6))
					r.Measure("stale_writes", 1)
				}),
				row("redis", "redis-drift", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(19))
					r.Measure("stale_writes", 0)
					r.Measure("lost_updates", 12)
				}),
				row("redis", "late-release", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(6))
					r.Measure("stale_writes", 0)
					r.Measure("lost_updates", 69)
				}),
				row("raft", "granted-pause", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(6))
					r.Measure("stale_writes", 1)
				}),
				row("raft", "redis-drift", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates = result.Unsafe, nil
					r.Measure("stale_writes", 0)
					r.Measure("lost_updates", 3)
				}),
				row("raft", "late-release", result.StatusExpected, func(r *result.Row) {
					r.Verdict.Safety, r.Duplicates, r.Overlaps = result.Unsafe, nil, new(int64(6))
					r.Measure("stale_writes", 0)
				}),
			}},
			[]string{
				"redlock: 1 stale write under granted-pause, in 1 of 2 scenarios, with 19 overlapping holds under redis-drift, with 69 lost updates there; ",
				"redis: 1 stale write under granted-pause, in 1 of 3 scenarios, with 19 overlapping holds under redis-drift (also under late-release: 6), with 69 lost updates under late-release (also under redis-drift: 12); ",
				"raft: 1 stale write under granted-pause, in 1 of 3 scenarios, with 6 overlapping holds there (also under late-release: 6), with 3 lost updates under redis-drift; ",
			},
		},
		"a resource's outage that went on, and one of all that reads alike": {
			result.File{Results: []result.Row{
				row("redis", "holder-pause", result.StatusExpected, func(r *result.Row) { r.StallMS = new(1379.0) }),
				row("redis", "holder-kill", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.StallResource, r.Acquired, r.Faults = new(1210.0), "g1", new(0.9), []result.Fault{{Kind: "latency"}}
					r.Measure(result.LockStallField, 1200)
					r.Measure(result.StallOpen, 1)
				}),
			}},
			[]string{"nobody got the lock for 1.2 s, and nobody got g1 for at least 1.2 s, to the end of the measured part."},
		},
		"one resource that had not recovered by the end": {
			result.File{Results: []result.Row{row("redis", "holder-kill", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.StallResource, r.Availability, r.NotRecovered, r.Acquired = new(1100.0), "g13", 0.93, true, new(0.8)
				r.Faults = []result.Fault{{Kind: "latency"}}
				r.Measure(result.StallOpen, 1)
			})}},
			[]string{"7.0% of the requests failed, and it had not recovered by the end of the run; nobody got g13 for at least 1.1 s"},
		},
		"the scenario of the longest outage failed requests, too": {
			result.File{Results: []result.Row{
				row("redis", "zone-latency", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Availability, r.Acquired, r.Faults = new(1210.0), 0.7, new(0.8), []result.Fault{{Kind: "latency"}}
				}),
				row("redis", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Availability, r.NotRecovered, r.Acquired, r.Faults = new(2510.0), 0.82, true, new(0.8), []result.Fault{{Kind: "partition"}}
				}),
			}},
			[]string{"when the network was slow 30.0% of the requests failed; nobody got the lock for 1.2 s; when the network was cut: 18.0% of the requests failed, and it had not recovered by the end of the run, nobody got the lock for 2.5 s."},
		},
		"failures in one scenario, the longest outage in another": {
			result.File{Results: []result.Row{
				row("redis", "zone-latency", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Availability, r.Acquired, r.Faults = new(1210.0), 0.7, new(0.8), []result.Fault{{Kind: "latency"}}
				}),
				row("redis", "zone-partition", result.StatusExpected, func(r *result.Row) {
					r.StallMS, r.Acquired, r.Faults = new(2510.0), new(0.8), []result.Fault{{Kind: "partition"}}
				}),
			}},
			[]string{"when the network was slow 30.0% of the requests failed; nobody got the lock for 1.2 s; when the network was cut: nobody got the lock for 2.5 s."},
		},
		"down, and one resource for longer": {
			result.File{Results: []result.Row{row("redlock", "zone-failure", result.StatusExpected, func(r *result.Row) {
				most, all := 3391.0, 1.0
				r.StallMS, r.Acquired, r.StallResource, r.Verdict.Liveness = &most, &all, "g16", "down"
				r.RecoveryMS = new(5.0)
			})}},
			[]string{"nobody got the lock until the fault was over, and nobody got g16 for 3.4 s"},
		},
		"down to the end": {
			result.File{Results: []result.Row{row("redsync", "redis-clock", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.Acquired, r.Verdict.Liveness, r.NotRecovered = new(997.0), new(0.4), "down", true
			})}},
			[]string{"every request was served; nobody got the lock for 997 ms with nothing broken."},
		},
		"not recovered": {
			result.File{Results: []result.Row{row("redlock", "zone-failure", result.StatusExpected, func(r *result.Row) {
				r.Availability, r.NotRecovered, r.Faults = 0.384, true, []result.Fault{{Kind: "zone-failure"}}
			})}},
			[]string{"when a zone died 61.6% of the requests failed, and it had not recovered by the end of the run"},
		},
		"cost on a machine that others use": {
			result.File{Results: []result.Row{
				row("none", "baseline", result.StatusExpected, used(2, 0.1)),
				row("multiphase", "baseline", result.StatusExpected, used(1.4, 0.39)),
			}},
			[]string{"multiphase 1.40 ms (0.7×, not judged). Not judged: others used the machine, up to 39.0% of its CPUs, more than 20.0%; measure again on a quiet one."},
		},
		"inconclusive for one reason": {
			result.File{Results: []result.Row{saturated("none", 13.7, 1515), saturated("raft", 16.1, 2), saturated("local", 15, 0)}},
			[]string{"3 of 3 verdicts are inconclusive. none under b, raft under b and local under b: work took 13.7 to 16.1 times as long."},
		},
		"a session": {
			result.File{Results: []result.Row{row("none", "play", result.StatusInconclusive, func(r *result.Row) {
				r.Played = true
				r.Verdict.Say(sentence.Of("the generator was late"))
			})}},
			[]string{"1 of 1 verdict is inconclusive. none under play: the generator was late."},
		},
		"nothing asked": {
			result.File{Results: []result.Row{row("raft", "baseline", result.StatusInconclusive, func(r *result.Row) { r.Availability = 0 })}},
			[]string{"no request was measured"},
		},
		"stalls are looked for in faults": {
			result.File{Results: []result.Row{row("raft", "mine", result.StatusExpected, func(r *result.Row) {
				r.StallMS, r.Faults = &six, []result.Fault{{Kind: "kill"}}
			})}},
			[]string{"nobody got the lock for 6.1 s when a process was killed"},
		},
		"no cost where something is broken": {
			result.File{Results: []result.Row{row("raft", "baseline", result.StatusExpected, func(r *result.Row) {
				r.LatencyMS, r.Faults = &result.Quantiles{P99: 3}, []result.Fault{{Kind: "kill"}}
			})}},
			[]string{"every request was served."},
		},
		"not judged": {
			result.File{Results: []result.Row{
				row("raft", "mine", result.StatusExpected, nil),
				row("redlock", "mine", result.StatusNotJudged, func(r *result.Row) {
					r.Verdict.Safety, r.Verdict.Expected = result.SafetyNotJudged, result.Expected{}
				}),
			}},
			[]string{
				"The lab's own check: the one verdict is as expected.", "1 of 2 rows is not judged, because the scenario expects nothing of the lock: redlock under mine.",
				"raft: no raced or overlooked duplicate was seen; every request was served.",
				"redlock: no raced or overlooked duplicate was seen, but whether it is safe was not judged; every request was served.",
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
				"raft: no raced or overlooked duplicate was seen; every request was served. Safety was not judged under holder-pause.",
				"redlock: 2 duplicates (2.00 per 1,000 matches) under holder-pause; every request was served.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := strings.Join(reports.Headline(lang.English(), test.file), "\n")
			for _, part := range test.want {
				if !strings.Contains(have, part) {
					t.Errorf("the headline does not say %q:\n%s", part, have)
				}
			}
		})
	}
}

// TestFirstTableLeavesNothingOut that harmed somebody: what is unsafe by overlaps alone is not
// good, unreachable duplicates are counted, and so is a zone that had no lock for the whole fault.
func TestFirstTableLeavesNothingOut(t *testing.T) {
	overlaps, zone, all, granted := int64(93), 2876.0, 255.0, 0.6
	row := func(lock string, change func(*result.Row)) result.Row {
		r := result.Row{
			Lock: lock, Scenario: "s", Workload: "matchmaking", Matches: 1000, Availability: 1, Duplicates: &result.Duplicates{},
			Verdict: result.Verdict{Status: result.StatusExpected, Safety: result.Safe, Liveness: "live"},
		}
		change(&r)
		return r
	}
	text := table(t, result.File{Results: []result.Row{
		row("none", func(r *result.Row) { r.Verdict.Safety, r.Overlaps = result.Unsafe, &overlaps }),
		row("multiphase", func(r *result.Row) { r.Duplicates = &result.Duplicates{Total: 60, Raced: 30, Unreachable: 30} }),
		row("redlock", func(r *result.Row) {
			r.Duplicates = &result.Duplicates{Total: 5, Unreachable: 5}
			r.StallMS, r.ZoneStallMS, r.ZoneStalled = &all, &zone, "c"
		}),
		row("raft", func(r *result.Row) { // half got the lock soon; one in a hundred waited for ever
			r.Availability, r.LatencyMS = 0.384, &result.Quantiles{P50: 3, P99: 13.8}
			r.Acquired, r.AcquireMS = &granted, &result.Quantiles{P50: 2, P99: 11}
		}),
		row("quorum", func(r *result.Row) { // slower where all got it
			r.Scenario, r.Acquired, r.AcquireMS = "slow", new(1.0), &result.Quantiles{P50: 43.6, P99: 60}
		}),
		row("quorum", func(r *result.Row) { r.Acquired, r.AcquireMS = new(0.369), &result.Quantiles{P50: 2.35, P99: 11} }),
		row("worse", func(r *result.Row) { // where the most took longest not all got it, and hardly anybody elsewhere
			r.Scenario, r.Acquired, r.AcquireMS = "slow", new(0.821), &result.Quantiles{P50: 50, P99: 90}
		}),
		row("worse", func(r *result.Row) { r.Acquired, r.AcquireMS = new(0.066), &result.Quantiles{P50: 2.35, P99: 11} }),
		row("half", func(r *result.Row) { r.Availability = 0.96 }),
		row("half", func(r *result.Row) { // decides nothing, and hides nothing
			r.Scenario, r.Availability, r.Verdict.Status = "slow", 0.519, result.StatusInconclusive
		}),
		row("old", func(r *result.Row) { r.Availability, r.AcquireMS = 0.74, &result.Quantiles{P50: 48, P99: 99} }),
		row("mine", func(r *result.Row) {
			r.Verdict.Status, r.Verdict.Safety = result.StatusNotJudged, result.SafetyNotJudged
		}),
	}}, 120, false)
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"none ✗ 0 ✓ none ? – ? – ? – ? – +93 overlaps", "multiphase ✗ 30 ✓ none ? – ? – ? – ? – +30 unreachable",
		"redlock △ 0 ✓ none ✗ 2.9 s ? – ? – ? – +5 unreachable in zone c s", "mine ? none seen",
		"quorum ✓ 0 ✓ none ? – ? – ✗ 43.6 ms ✗ 60 ms slow slow acquire p50: s: 36.9% granted; acquire p99: s: 36.9% granted",
		"half ? none seen ✗ 4.0% ? – ? – ? – ? – s failed requests: slow: 48.1%, undecided",
		"worse ✓ 0 ✓ none ? – ? – ✗ 50 ms ✗ 90 ms 82.1% granted 82.1% granted slow slow acquire p50: s: 6.6% granted; acquire p99: s: 6.6% granted", "old ✓ 0 ✗ 26.0% ? – ? – ? 48 ms ? 99 ms unknown share unknown share",
		"raft ✓ 0 ✗ 61.6% ? – ✗ 13.8 ms ✓ 2 ms ✗ 11 ms 38.4% served 60.0% granted 60.0% granted",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not say %q:\n%s", want, text)
		}
	}
}
