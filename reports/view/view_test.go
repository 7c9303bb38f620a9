package view_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// headline is the run of SCREEN.md: six locks under four scenarios.
func headline() result.File {
	f := result.File{Schema: result.Schema, Run: result.Run{
		ID: "2026-11-28T02-28-28", Started: time.Date(2026, 11, 28, 2, 28, 28, 0, time.UTC), DurationMS: 271_000, Seed: 1, Commit: "5e63c54",
		Topology: "seoul-2az", Zones: []string{"a", "c"}, Majority: []string{"multiphase:quorum", "redlock", "raft"}, Command: "locklab run", Load: "workload=matchmaking rate=300", Repeats: 1,
		Host: result.Host{OS: "linux", Arch: "amd64", CPUs: 2, MemoryMiB: 8192, Go: "go1.25"},
		Scenarios: []result.Scenario{
			{Name: "baseline", Title: "nothing broken", TitleKO: "장애 없음"},
			{Name: "zone-latency", Title: "zones slow", TitleKO: "영역 지연"},
			{Name: "zone-partition", Title: "zones cut", TitleKO: "영역 분리"},
			{Name: "zone-failure", Title: "zone a dies", TitleKO: "영역 a 고장"},
		},
	}}
	locks := []struct {
		name         string
		p50, grants  float64
		p99          float64
		dup          [4]float64
		outage, zone [4]float64
		cut          float64
	}{
		{name: "none", p99: 6.3, dup: [4]float64{218, 208, 261, 206}},
		{name: "local", p50: 0.005, p99: 6.4, dup: [4]float64{118, 110, 114, 80}},
		{name: "multiphase", p50: 1.3, grants: 44_123, p99: 8.6, dup: [4]float64{2: 25}, cut: 34},
		{name: "multiphase:quorum", p50: 2, grants: 21_960, p99: 9.7, outage: [4]float64{2: 2812, 3: 2900}},
		{name: "redlock", p50: 1, grants: 13_111, p99: 9.8, zone: [4]float64{2: 2790}, outage: [4]float64{3: 3400}, cut: 2},
		{name: "raft", p50: 2.5, grants: 14_000, p99: 13.2, zone: [4]float64{2: 2800}, outage: [4]float64{3: 3100}, cut: 4},
	}
	for _, l := range locks {
		for i, s := range f.Run.Scenarios {
			r := result.Row{
				Lock: l.name, Scenario: s.Name, Workload: "matchmaking", Repeat: 1, Seed: 1, MeasuredMS: 7000, History: "histories/" + l.name + "-" + s.Name + ".jsonl.gz",
				Verdict:  result.Verdict{Sound: result.Statement{State: result.OK}, Safety: result.Statement{State: result.OK}, Liveness: result.Statement{State: result.OK}, Word: result.Live, As: result.AsExpected},
				Expected: result.Expected{Safety: result.Safe, Liveness: []string{result.Live}},
				Figures: map[string]float64{
					"duplicates": l.dup[i], "unreachable": 0, "offered_per_s": 300, "request_p99_ms": l.p99 + float64(i), "served": 0.9987,
					"outage_ms": max(l.outage[i], 112), "zone_outage_ms": max(l.zone[i], l.outage[i], 120),
				},
			}
			if l.p50 > 0 {
				r.Figures["acquire_p50_ms"] = l.p50 + float64(i)
			}
			if l.grants > 0 && i == 0 {
				r.Figures["grants_per_s"] = l.grants
			}
			if l.dup[i] > 0 {
				r.Verdict.Safety = result.Statement{State: result.Failed, Code: result.Duplicates, N: l.dup[i]}
				r.Expected.Safety = result.Unsafe
			}
			if l.outage[i] > 0 {
				r.Verdict.Word, r.Expected.Liveness = result.Down, []string{result.Down}
				r.Verdict.Liveness = result.Statement{State: result.Failed, Code: result.IsDown, N: l.outage[i]}
				r.Outages = append(r.Outages, result.Outage{FromMS: 2000, ToMS: 2000 + l.outage[i]})
			}
			if l.zone[i] > 0 {
				r.Outages = append(r.Outages, result.Outage{Of: "zone c", FromMS: 2000, ToMS: 2000 + l.zone[i]})
			}
			if i == 2 {
				r.Figures["unreachable"] = l.cut
			}
			if i > 0 {
				r.Faults = []result.Fault{{ID: "1", Kind: []string{"latency", "partition", "zone-failure"}[i-1], Target: "zone a", From: []string{"a"}, To: []string{"c"}, Proven: true, AskedMS: 1990, BeganMS: 2000, HealMS: 2000 + []float64{4000, 2800, 2800}[i-1], EndedMS: 6100}}
			}
			r.Hosts = []result.Machine{{CPUs: 2, Busy: 0.62, Others: 0.05, Slowdown: 1.02, LateMS: 2.1}}
			f.Rows = append(f.Rows, r)
		}
	}
	return f
}

// troubled is what the headline is not: repeats, another workload, cells that are not as expected
// or undecided, a combination that does not apply, and programs with long names.
func troubled() result.File {
	f := headline()
	f.Run.Interrupted, f.Run.Repeats, f.Run.Warnings = true, 2, []string{"The link costs 210 us a round trip: figures below a millisecond are mostly the lab's."}
	f.Run.Scenarios = append(f.Run.Scenarios, result.Scenario{Name: "failure-in-partition"}, result.Scenario{Name: "herd"}, result.Scenario{Name: "one-way-partition"})
	f.Run.Unfit = []result.Unfit{{Key: result.Key{Lock: "redlock", Scenario: "herd", Workload: "mutex"}, Why: "it has no queue"}}
	f.Run.Claims = []result.Claim{{Claim: "A lock on one Redis loses mutual exclusion at failover.", Source: "redis.io", Verdict: result.ClaimPartly, Evidence: []result.Evidence{
		{Key: result.Key{Lock: "redlock", Scenario: "zone-failure", Workload: "mutex"}, Wanted: []string{result.Unsafe}, Verdict: result.ClaimRefuted},
		{Key: result.Key{Lock: "multiphase", Scenario: "zone-partition", Workload: "mutex"}, Wanted: []string{result.Stalls, result.Down}, Verdict: result.ClaimShown},
	}}}
	for i := range f.Rows {
		r := &f.Rows[i]
		r.Workload = "mutex"
		if r.Lock == "raft" {
			r.Lock = "our-own-lock-with-a-rather-long-name-of-a-program:ttl=1s"
		}
		if s := &r.Verdict.Safety; s.State == result.Failed {
			s.Code = result.Overlaps
		}
		delete(r.Figures, "unreachable")
	}
	redlock, raft, none := &f.Rows[18], &f.Rows[23], &f.Rows[0]
	redlock.Verdict.As, redlock.Verdict.Why = result.NotAsExpected, result.Statement{State: result.Failed, Code: result.NotLive, N: 2790}
	redlock.Verdict.Word, redlock.Verdict.Liveness = result.Stalls, result.Statement{State: result.Failed, Code: result.IsStalls, N: 2790, Of: "zone c"}
	raft.Verdict.Sound, raft.Verdict.As = result.Statement{State: result.Failed, Code: result.Saturated}, result.Unsound
	raft.Verdict.Why = raft.Verdict.Sound
	none.Verdict.As, none.Verdict.Why = result.Silent, result.Statement{State: result.Failed, Code: result.ControlSilent}
	none.Verdict.Safety = result.Statement{State: result.OK}
	for _, r := range f.Rows[8:12] {
		r.Repeat, r.Seed = 2, 2
		f.Rows = append(f.Rows, r)
	}
	return f
}

func TestGoldens(t *testing.T) {
	korean, err := lang.Of(lang.KoreanTag)
	must.Do(t, err)
	o := view.Options{Page: "reports/runs/2026-11-28T02-28-28/index.html", Link: func(k result.Key) string { return "#" + k.Scenario + "/" + k.Lock }}
	type writer func(io.Writer, result.File, *lang.Lang, view.Options) error
	files := map[string]writer{
		"console.txt": view.Console, "full.txt": view.Full, "report.md": view.Markdown, "digest.txt": view.Digest,
		"results.csv": func(w io.Writer, f result.File, _ *lang.Lang, _ view.Options) error { return view.CSV(w, f) },
		"grid.html": func(w io.Writer, f result.File, say *lang.Lang, o view.Options) error {
			_, err := io.WriteString(w, string(table.HTML(view.Of(say, f, o).Grids[0])))
			return err
		},
	}
	for _, golden := range []struct {
		name string
		say  *lang.Lang
		file result.File
		of   []string
	}{
		{"headline", lang.English(), headline(), []string{"console.txt", "full.txt", "report.md", "results.csv"}},
		{"headline.ko", korean, headline(), []string{"console.txt", "report.md"}},
		{"troubled", lang.English(), troubled(), []string{"console.txt", "digest.txt", "grid.html"}},
		{"troubled.ko", korean, troubled(), []string{"console.txt", "digest.txt"}},
	} {
		for _, kind := range golden.of {
			t.Run(golden.name+"."+kind, func(t *testing.T) {
				var out bytes.Buffer
				must.Do(t, files[kind](&out, golden.file, golden.say, o))
				testfile.Golden(t, filepath.Join("testdata", golden.name+"."+kind), out.String())
			})
		}
	}
}

// TestAnswers: an undecided cell is neither a failure nor a figure, and the majority is a reason only
// of locks that need it.
func TestAnswers(t *testing.T) {
	undecide := func(f *result.File, lock string) {
		for i := range f.Rows {
			if f.Rows[i].Lock == lock {
				f.Rows[i].Verdict.Sound = result.Statement{State: result.Failed, Code: result.Saturated}
			}
		}
	}
	const never, none = "Never two at once", "no lock here"
	for _, c := range []struct {
		name   string
		change func(*result.File)
		want   []view.Line
	}{
		{"safe locks undecided", func(f *result.File) {
			for _, lock := range f.Run.Majority {
				undecide(f, lock)
			}
		}, []view.Line{{Label: "No outage of 1 s", Text: "none, local, multiphase"}, {Label: "p99 of a request", Text: "none 6.3 ms, multiphase 8.6"}}},
		{"unsafe locks undecided", func(f *result.File) {
			for _, lock := range []string{"none", "local", "multiphase"} {
				undecide(f, lock)
			}
		}, []view.Line{{Label: never, Text: "multiphase:quorum, redlock, raft"}, {Label: "p99 of a request", Text: "quorum 9.7 ms, redlock 9.8, raft 13"}}},
		{"locks of one server", func(f *result.File) { f.Run.Majority = nil }, []view.Line{
			{Label: never, Text: "multiphase:quorum, redlock, raft"},
			{Label: "No outage of 1 s", Text: "none, local, multiphase"},
			{Label: "Both", Text: none},
			{Label: "p99 of a request", Text: "none 6.3 ms, multiphase 8.6, quorum 9.7, redlock 9.8, raft 13"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := headline()
			c.change(&f)
			v := view.Of(lang.English(), f, view.Options{})
			if diff := cmp.Diff(c.want, v.Answers); diff != "" {
				t.Error(diff)
			}
			for i, row := range v.Grids[0].Rows {
				sound := f.Rows[4*i].Decided()
				if p50 := row[len(row)-2].Text; !sound && p50 != table.Absent {
					t.Errorf("%s is undecided, and has a p50 of %s", row[0], p50)
				}
			}
		})
	}
}

// TestWhyNamesTheRun where locklab why would not look for it by itself.
func TestWhyNamesTheRun(t *testing.T) {
	for page, want := range map[string]string{
		"": "", "reports/runs/a/index.html": "", "reports/sample/index.html": " --report reports/sample", "index.html": " --report .",
	} {
		v := view.Of(lang.English(), headline(), view.Options{Page: page})
		if have := v.Why.Command; have != "locklab why multiphase zone-partition"+want {
			t.Errorf("page %q: %s", page, have)
		}
	}
}

// TestNextRunsUndecidedRowsAgain of a run that came to its end and that no person broke. No command is cut off.
func TestNextRunsUndecidedRowsAgain(t *testing.T) {
	const redo = "locklab run --resume reports/runs/2026-11-28T02-28-28-2 --redo inconclusive"
	for name, c := range map[string]struct {
		change func(*result.File, *result.Row)
		redoes bool
	}{
		"decided":     {func(_ *result.File, r *result.Row) { r.Verdict.Sound.State = result.OK }, false},
		"undecided":   {func(*result.File, *result.Row) {}, true},
		"played":      {func(_ *result.File, r *result.Row) { r.Played = true }, false},
		"interrupted": {func(f *result.File, _ *result.Row) { f.Run.Interrupted = true }, false},
	} {
		f := headline()
		f.Rows[0].Verdict.Sound.State = result.Failed
		c.change(&f, &f.Rows[0])
		var out bytes.Buffer
		must.Do(t, view.Console(&out, f, lang.English(), view.Options{Page: "reports/runs/2026-11-28T02-28-28-2/index.html"}))
		said := strings.Join(strings.Fields(out.String()), " ")
		if strings.Contains(said, "next "+redo+" (what is undecided) full ") != c.redoes {
			t.Errorf("%s: want %v of %q in\n%s", name, c.redoes, redo, out.String())
		}
	}
}

// TestSizes holds what the headline may take: 30 lines of the console, 80 of the report, 60
// columns of CSV.
func TestSizes(t *testing.T) {
	var console, report, figures bytes.Buffer
	f := headline()
	must.Do(t, errors.Join(view.Console(&console, f, lang.English(), view.Options{Page: "index.html"}), view.Markdown(&report, f, lang.English(), view.Options{}), view.CSV(&figures, f)))
	if n := strings.Count(console.String(), "\n"); n > 30 {
		t.Errorf("the first screen has %d lines", n)
	}
	if n := strings.Count(report.String(), "\n"); n > 80 {
		t.Errorf("report.md has %d lines", n)
	}
	head, _, _ := strings.Cut(figures.String(), "\n")
	if n := strings.Count(head, ",") + 1; n > 60 {
		t.Errorf("results.csv has %d columns", n)
	}
}

// arbitrary is any file that a result may be, and some that none should be.
func arbitrary(t *rapid.T) result.File {
	name := rapid.SampledFrom([]string{"", "none", "redlock:ttl=1s", "raft", "a\x1b[31mb\nc", "분산락을-시험하는-아주-긴-이름의-프로그램", strings.Repeat("long", 30), "=1+1", "|<b>|"})
	state := rapid.SampledFrom([]result.State{result.OK, result.OK, result.Failed, result.Unknown, ""})
	code := rapid.SampledFrom([]result.Code{result.Duplicates, result.Overlaps, result.IsDown, result.Saturated, result.NotSafe, result.NotLive, "", "other"})
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e5), rapid.Just(0.0))
	statement := rapid.Custom(func(t *rapid.T) result.Statement {
		return result.Statement{State: state.Draw(t, "state"), Code: code.Draw(t, "code"), N: number.Draw(t, "n"), Of: rapid.SampledFrom([]string{"", "zone c", "group-1"}).Draw(t, "of")}
	})
	var figures []string
	for _, f := range result.Figures() {
		figures = append(figures, f.Name)
	}
	row := rapid.Custom(func(t *rapid.T) result.Row {
		return result.Row{
			Lock: name.Draw(t, "lock"), Scenario: name.Draw(t, "scenario"), Workload: rapid.SampledFrom([]string{"matchmaking", "mutex"}).Draw(t, "workload"),
			Verdict: result.Verdict{
				Sound: statement.Draw(t, "sound"), Safety: statement.Draw(t, "safety"), Liveness: statement.Draw(t, "liveness"), Why: statement.Draw(t, "why"),
				Word: rapid.SampledFrom([]string{result.Live, result.Down, ""}).Draw(t, "word"), As: rapid.SampledFrom([]result.Comparison{result.AsExpected, result.NotAsExpected, result.Silent, result.Unsound, ""}).Draw(t, "as"),
			},
			Expected: result.Expected{Safety: rapid.SampledFrom([]string{"", result.Safe, result.Unsafe}).Draw(t, "expected")},
			Figures:  rapid.MapOf(rapid.SampledFrom(figures), number).Draw(t, "figures"),
			Outages:  []result.Outage{{Of: "zone " + name.Draw(t, "zone"), ToMS: number.Draw(t, "outage")}},
			Faults:   []result.Fault{{Kind: name.Draw(t, "kind"), BeganMS: number.Draw(t, "began"), HealMS: number.Draw(t, "heal"), EndedMS: result.Never}},
			Hosts:    []result.Machine{{Busy: number.Draw(t, "busy")}},
		}
	})
	titles := rapid.Custom(func(t *rapid.T) result.Scenario {
		return result.Scenario{Name: name.Draw(t, "name"), Title: name.Draw(t, "title"), TitleKO: name.Draw(t, "ko")}
	})
	return result.File{
		Run: result.Run{
			Scenarios: rapid.SliceOfN(titles, 0, 9).Draw(t, "scenarios"), Warnings: rapid.SliceOfN(name, 0, 9).Draw(t, "warnings"), Zones: rapid.SliceOfN(name, 0, 3).Draw(t, "zones"),
			Repeats: rapid.IntRange(0, 3).Draw(t, "repeats"), Interrupted: rapid.Bool().Draw(t, "interrupted"), Command: name.Draw(t, "command"),
			Claims: []result.Claim{{Claim: name.Draw(t, "claim"), Evidence: []result.Evidence{{Wanted: []string{result.Safe}}}}},
		},
		Rows: rapid.SliceOfN(row, 0, 40).Draw(t, "rows"),
	}
}

// TestScreensFit gives every writer arbitrary files: none panics, and no line is wider than the console.
func TestScreensFit(t *testing.T) {
	languages := lang.All()
	rapid.Check(t, func(t *rapid.T) {
		f := arbitrary(t)
		say := rapid.SampledFrom(languages).Draw(t, "language")
		o := view.Options{Page: rapid.SampledFrom([]string{"", "index.html", strings.Repeat("dir/", 40)}).Draw(t, "page"), Locks: []string{"raft"}}
		var screen, others bytes.Buffer
		if err := errors.Join(view.Console(&screen, f, say, o), view.Full(&screen, f, say, o), view.Digest(&screen, f, say, o)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(screen.String()) {
			if line = strings.TrimSuffix(line, "\n"); table.Columns(line) > 80 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%d columns: %q", table.Columns(line), line)
			}
		}
		if err := errors.Join(view.Markdown(&others, f, say, o), view.CSV(&others, f)); err != nil {
			t.Fatal(err)
		}
		for _, grid := range view.Of(say, f, o).Grids {
			if html := string(table.HTML(grid)); strings.Contains(html, "<b>") {
				t.Fatal(html)
			}
		}
	})
}
