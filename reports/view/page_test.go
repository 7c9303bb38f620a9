package view_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

const ms = int64(time.Millisecond)

// aFile is a run of three locks under two scenarios, of which one row has no history.
func aFile() result.File {
	f := result.File{Schema: result.Schema, Run: result.Run{
		ID: "2026-11-28T02-28-28", Started: time.Date(2026, 11, 28, 2, 28, 28, 0, time.UTC), DurationMS: 271_000, Seed: 1, Commit: "0123abc", Topology: "seoul-2az",
		Zones: []string{"a", "c"}, Command: "locklab run", Repeats: 1, Host: result.Host{OS: "linux", Arch: "amd64", CPUs: 2, Go: "go1.26"},
		Scenarios: []result.Scenario{{Name: "baseline", Title: "nothing broken", TitleKO: "장애 없음"}, {Name: "zone-partition", Title: "zones cut", TitleKO: "영역 단절"}},
		Warnings:  []string{"the disk is slow"},
	}}
	ok := result.Statement{State: result.OK}
	for _, lock := range []string{"none", "multiphase", "raft"} {
		for _, scenario := range f.Run.Scenarios {
			r := result.Row{
				Lock: lock, Scenario: scenario.Name, Workload: history.Matchmaking, Repeat: 1, Seed: 1, History: "histories/" + lock + "/" + scenario.Name + ".jsonl.gz", MeasuredMS: 6000,
				Verdict: result.Verdict{Sound: ok, Safety: ok, Liveness: ok, Word: result.Live, As: result.AsExpected},
				Figures: map[string]float64{"served": 1, "requests": 600, "offered_per_s": 100, "request_p50_ms": 12, "request_p99_ms": 40.5, "acquire_p50_ms": 1.3, "acquire_p99_ms": 3.2, "grants_per_s": 22000, "cpu_us_per_grant": 41},
				Errors:  map[string]int64{"timeout": 3},
			}
			switch {
			case lock == "none":
				r.Verdict.Safety = result.Statement{State: result.Failed, Code: result.Duplicates, N: 25}
				r.Figures["duplicates"] = 25
				r.Violations = []result.Violation{{Code: result.Duplicates, AtMS: 130, Resource: "group-1", First: result.Party{Room: "r1"}, Second: result.Party{Room: "r2"}}}
			case scenario.Name != "baseline" && lock == "raft":
				r.Verdict.Liveness, r.Verdict.Word = result.Statement{State: result.Failed, Code: result.IsDown, N: 2000, Of: "zone c"}, result.Down
				r.Figures["outage_ms"], r.Figures["served"] = 2000, 0.66
				r.Outages = []result.Outage{{Of: "zone c", FromMS: 2000, ToMS: 4000}}
			}
			if scenario.Name != "baseline" {
				r.Faults = []result.Fault{{ID: "partition-1", Kind: "partition", Target: "zones", Proven: true, AskedMS: 1990, BeganMS: 2000, HealMS: 3990, EndedMS: 4000}}
			}
			f.Rows = append(f.Rows, r)
		}
	}
	return f
}

// open makes the history of a row: 100 requests a second, and what the row says of them.
func open(_ context.Context, row *result.Row) (view.History, error) {
	if row.Lock == "multiphase" {
		return view.History{}, fs.ErrNotExist
	}
	const start = 1000 * ms
	run := &record.Run{Head: history.Run{Lock: row.Lock, Workload: row.Workload, OfferedPS: 100}, Measure: start, Drain: start + 6000*ms, End: start + 8000*ms}
	run.Nodes = map[string]*record.Node{"master-c": {Name: "master-c", Zone: "c"}}
	for i := range int64(600) {
		at := start + i*10*ms
		q := record.Request{Op: record.Op{From: at, At: at + 12*ms, Node: "master-a", Resource: "group-1"}, Room: "r1"}
		if len(row.Outages) > 0 && i >= 200 && i < 400 {
			q.Outcome, q.ErrorKind, q.Room, q.At = record.Failed, "timeout", "", at+500*ms
		}
		run.Requests = append(run.Requests, q)
	}
	for i := range int64(60) {
		at := start + i*100*ms
		c := record.Acquire{Op: record.Op{From: at, At: at + ms, Node: "master-c", Resource: "canary-master-c"}, Hold: fmt.Sprint("h", i), Until: at + 2*ms}
		if len(row.Outages) > 0 && i >= 20 && i < 40 {
			c = record.Acquire{Op: record.Op{From: at, At: at + 90*ms, Node: "master-c", Resource: "canary-master-c", Outcome: record.Failed, ErrorKind: "timeout"}, Until: record.Never}
		}
		run.Canaries = append(run.Canaries, &c)
	}
	for i := range 2 {
		begins := [4]int64{start + int64(100+30*i)*ms, record.Never, record.Never, record.Never}
		run.Rooms = append(run.Rooms, record.Room{ID: fmt.Sprint("r", i+1), Worker: "worker-a", Resource: "group-1", Master: []string{"master-a", "master-c"}[i], At: begins})
	}
	h := view.History{Run: run}
	for _, v := range row.Violations {
		h.ViolationsMS = append(h.ViolationsMS, v.AtMS)
	}
	return h, nil
}

// written are the pages of the file.
func written(t *testing.T, f result.File) (dir string, pages map[string]string) {
	t.Helper()
	dir, pages = t.TempDir(), map[string]string{}
	must.Do(t, view.WritePages(t.Context(), dir, "reports/runs/"+f.Run.ID, f, open))
	for _, name := range []string{"index.html", "index.ko.html", "glossary.html", "glossary.ko.html"} {
		pages[name] = string(testfile.Read(t, filepath.Join(dir, name)))
	}
	return dir, pages
}

// TestGolden compares the pages with those that were looked at. Style and script are left out.
func TestGolden(t *testing.T) {
	_, pages := written(t, aFile())
	for name, have := range pages {
		have = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(have, "")
		testfile.Golden(t, filepath.Join("testdata", name), have)
	}
}

// TestPagesNeedNothing: every page parses, loads nothing, has its style once, and says no word
// that the measures do not have any more.
func TestPagesNeedNothing(t *testing.T) {
	f := aFile()
	f.Rows[0].Lock = `<script>alert("x")</script>&` + "\x1b[31m"
	_, pages := written(t, f)
	for name, text := range pages {
		if n := strings.Count(text, "<style>"); n != 1 {
			t.Errorf("%s has %d styles, want 1", name, n)
		}
		for _, found := range regexp.MustCompile(`(?i)\b(src=|href=["'][^"']*//|@import|url\()[^>]*`).FindAllString(text, -1) {
			t.Errorf("%s loads something: %s", name, found)
		}
		for _, tag := range []string{"section", "details", "div", "table", "svg", "figure", "dl", "main", "p", "span", "td", "tr"} {
			opened := len(regexp.MustCompile(`<`+tag+`[ >]`).FindAllString(text, -1))
			if closed := strings.Count(text, "</"+tag+">"); opened != closed {
				t.Errorf("%s: %s is opened %d times, closed %d times", name, tag, opened, closed)
			}
		}
		if strings.Contains(text, `<script>alert`) || strings.Contains(text, "\x1b") {
			t.Errorf("%s has a name as markup", name)
		}
		for _, word := range []string{"raced", "overlooked", "inconclusive", "availability", "no fault touched", "haunted", "warm-up"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q", name, word)
			}
		}
	}
}

// TestGlossaryIsShort: it fits on a screen, with reports/README.md beside it.
func TestGlossaryIsShort(t *testing.T) {
	_, pages := written(t, aFile())
	text := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>|<[^>]*>`).ReplaceAllString(pages["glossary.html"], " ")
	if n := len(strings.Fields(text)); n > 640 {
		t.Errorf("the glossary has %d words, want at most 640", n)
	}
}

// TestInTheBrowser looks at the pages as browsers lay them out.
func TestInTheBrowser(t *testing.T) {
	f := aFile()
	f.Rows[2].Lock = "<i>" + strings.Repeat("long", 30)
	f.Rows[3].Lock = f.Rows[2].Lock
	dir, _ := written(t, f)
	sheet := view.Sheet{
		Title: "a sheet", Lede: "<b>" + strings.Repeat("long", 60),
		Sections: []view.Section{{Title: "3 zones", Table: table.Table{Title: "peers", Columns: []table.Column{{Title: "lock", Key: true}}, Rows: [][]table.Cell{{{Text: "multiphase"}}}}}},
	}
	data, err := sheet.HTML(lang.English())
	must.Do(t, err)
	testfile.Write(t, filepath.Join(dir, "sheet.html"), data)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a tab that hangs tells where
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	must.Do(t, err)
	defer stop()
	w, err := browser.Follow(tab, "file://")
	must.Do(t, err)
	for _, name := range []string{"index.html", "index.ko.html", "glossary.html", "sheet.html"} {
		for _, scheme := range []browser.Scheme{browser.Light, browser.Dark} {
			for _, width := range []int64{360, 1280} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, scheme, width), func(t *testing.T) {
					must.Do(t, browser.Visit(tab, "file://"+filepath.Join(dir, name), width, 800, scheme))
					evaluate[int64](tab, t, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), 0)`)
					if have := evaluate[int64](tab, t, `document.documentElement.scrollWidth`); have > width {
						t.Errorf("the page is %d pixels wide", have)
					}
					if top := evaluate[float64](tab, t, `(() => { const at = document.querySelector(".evidence > div"); at?.scrollIntoView({ behavior: "instant" }); return at ? at.previousElementSibling.getBoundingClientRect().top : 0; })()`); top < 0 {
						t.Errorf("a link to evidence hides its title: %.0f pixels", top)
					}
					if dark := evaluate[bool](tab, t, `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return r + g + b < 200; })()`); dark != (scheme == browser.Dark) {
						t.Errorf("the background does not follow the %s scheme", scheme)
					}
					for what, script := range map[string]string{
						"header cells without a scope":         `document.querySelectorAll("th:not([scope])").length`,
						"drawings without a description":       `[...document.querySelectorAll("svg")].filter((s) => !s.getAttribute("aria-label") && s.getAttribute("aria-hidden") !== "true").length`,
						"scrolling boxes out of reach of keys": `document.querySelectorAll(".box:not([tabindex='0'])").length`,
						"links to nowhere":                     `[...document.querySelectorAll("a[href^='#']")].filter((a) => !document.getElementById(a.getAttribute("href").slice(1))).length`,
						"ids that are not unique":              `document.querySelectorAll("[id]").length - new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size`,
					} {
						if n := evaluate[int64](tab, t, script); n != 0 {
							t.Errorf("%d %s", n, what)
						}
					}
					for _, found := range w.Take() {
						t.Error("the page made " + found)
					}
				})
			}
		}
	}
}

func evaluate[T any](tab context.Context, t *testing.T, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}
