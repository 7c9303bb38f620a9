package reports_test

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/browser"
	"locklab/internal/sentence"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/reports/series"
	"locklab/reports/sweep"
)

// withScenes is a page of evidence with a scene.
func withScenes(t *testing.T) string {
	t.Helper()
	dir := sample(t)
	read := func(ctx context.Context, path string) (series.History, error) {
		h, err := operations(ctx, path)
		h.Scenes = []series.Scene{{
			Moment: series.Moment{What: "overlap", Resource: "g1", Text: sentence.Name("h2 on master-c got g1 while h1 on master-a held it"), AtMS: 1200, Faults: []sentence.Text{sentence.Name("partition of zone:a <-> others")}},
			Steps: []series.Step{
				{Who: "faults", What: "fault", Text: sentence.Name("partition of zone:a <-> others"), FromMS: -15, ToMS: math.Inf(1)},
				{Who: "players", What: "match", Text: sentence.Name("p1 asks master-a: room-1"), FromMS: -20, ToMS: 5},
				{Who: "master-a", What: "hold", Text: sentence.Name("client-1 believes that it holds g1 (h1)"), FromMS: -10, ToMS: 12},
				{Who: "master-c", What: "hold", Text: sentence.Name("client-2 believes that it holds g1 (h2)"), FromMS: 0, ToMS: 8},
			},
		}}
		return h, err
	}
	if err := reports.Generate(t.Context(), []string{dir}, "", read); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, reports.EvidenceFile)
}

// sheet is a page with a drawing of a sweep and a verdict.
func sheet(t *testing.T) string {
	t.Helper()
	points := []sweep.Point{{Lock: "multiphase", Peers: 2, Zones: 3, Messages: 3}, {Lock: "multiphase", Peers: 100, Zones: 3, Messages: 297}}
	drawing := sweep.Draw(lang.English(), sweep.Figures()[0], points)
	path := filepath.Join(t.TempDir(), "new", reports.PageFile)
	if err := reports.WriteSheet(path, lang.English(), reports.Sheet{
		Title: "multiphase against the number of peers", Lede: "seed 1", Made: "locklab sim multiphase --sweep peers=2..100",
		Verdict: reports.SheetVerdict{Text: "undecided: <b>" + strings.Repeat("long", 60)}, Facts: []reports.SheetFact{{Name: "seen", Lines: []string{"one", "two"}}},
		Sections: []reports.SheetSection{
			{Title: "Messages", Drawing: drawing},
			{Title: "3 zones", Columns: []reports.SheetColumn{{Title: "lock"}, {Title: "peers", Number: true}}, Rows: [][]string{{"multiphase", "2"}, {hostile, "100"}}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPageIsAccessible: what a screen reader has of the pages.
func TestPageIsAccessible(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	compared := t.TempDir()
	generate(t, []string{dir, sample(t)}, compared)
	tab, _ := openBrowser(t)
	for name, file := range map[string]string{
		"run": filepath.Join(dir, reports.PageFile), "evidence": withScenes(t), "sheet": sheet(t), "comparison": filepath.Join(compared, reports.PageFile),
	} {
		t.Run(name, func(t *testing.T) {
			if err := browser.Show(tab, file, 1280, 800, browser.Light); err != nil {
				t.Fatal(err)
			}
			wellMade(tab, t)
			wellTold(tab, t)
		})
	}
}

// wellMade looks at the document as it stands.
func wellMade(tab context.Context, t *testing.T) {
	t.Helper()
	for what, script := range map[string]string{
		"tables without a caption":             `document.querySelectorAll("table:not(:has(> caption))").length`,
		"header cells without a scope":         `document.querySelectorAll("th:not([scope])").length`,
		"body rows without a header cell":      `document.querySelectorAll("tbody tr:not(:has(th), .said)").length`,
		"drawings without a description":       `[...document.querySelectorAll("svg")].filter((s) => !s.getAttribute("aria-label") && s.getAttribute("aria-hidden") !== "true").length`,
		"scrolling boxes out of reach of keys": `document.querySelectorAll(".box:not([tabindex='0']), .box:not([aria-label])").length`,
		"links to nowhere":                     `[...document.querySelectorAll("a[href^='#']")].filter((a) => !document.querySelector(a.getAttribute("href"))).length`,
		"ids that are not unique":              `document.querySelectorAll("[id]").length - new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size`,
		"headings that skip a level":           `[...document.querySelectorAll("h1, h2, h3, h4")].map((h) => +h.tagName[1]).filter((n, i, all) => i > 0 && n > all[i - 1] + 1).length`,
		"missing language":                     `document.documentElement.lang ? 0 : 1`,
	} {
		if n := evaluate[int64](tab, t, script); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// wellTold looks at Chromium's accessibility tree: what it says to a screen reader.
func wellTold(tab context.Context, t *testing.T) {
	t.Helper()
	tree, err := chromedp.Call(tab, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s) // what is no text is not wanted
		}
		return s
	}
	roles := map[string][]string{}
	for _, n := range tree.Nodes {
		if !n.Ignored {
			roles[text(n.Role)] = append(roles[text(n.Role)], text(n.Name))
		}
	}
	for _, landmark := range []string{"banner", "navigation", "main", "contentinfo"} {
		if len(roles[landmark]) != 1 {
			t.Errorf("%d landmarks %s, want one", len(roles[landmark]), landmark)
		}
	}
	for _, role := range []string{"link", "button", "table", "region", "image", "img", "navigation", "DisclosureTriangle", "columnheader", "rowheader"} {
		if slices.Contains(roles[role], "") {
			t.Errorf("there is a %s without a name", role)
		}
	}
	figures := 0
	for _, name := range append(roles["image"], roles["img"]...) {
		if len(strings.Fields(name)) < 2 { // a shape is told by the word for its meaning
			if !slices.Contains([]string{"good", "noticed", "harm", "undecided"}, name) {
				t.Errorf("an image is told as %q", name)
			}
			continue
		}
		figures++
		if !strings.ContainsAny(name, ".:") { // what it shows, and what was found
			t.Errorf("a figure is told without what it found: %q", name)
		}
	}
	if slices.Contains(roles["link"], "back to the report") && figures == 0 {
		t.Error("no scene is told")
	}
}

// TestNothingIsCutOff: on a small screen tables become lists, on a wide one and on paper
// every column has its place.
func TestNothingIsCutOff(t *testing.T) {
	dir, other, compared := sample(t), sample(t), t.TempDir()
	edit(t, other, func(f *result.File) {
		for i := range f.Results {
			f.Results[i].LatencyMS.P50 *= 1.5
		}
	})
	generate(t, []string{dir}, "")
	generate(t, []string{dir, other}, compared)
	files := map[string]string{
		"run": filepath.Join(dir, reports.PageFile), "evidence": withScenes(t),
		"comparison": filepath.Join(compared, reports.PageFile), "sheet": sheet(t),
	}
	for _, page := range []string{"run", "evidence", "comparison"} { // a sheet is written in one language
		files[page+" in Korean"] = strings.TrimSuffix(files[page], ".html") + ".ko.html"
	}
	files["list"] = listed(t, dir, other)
	// The sample has every table with all its columns, and every kind of scene.
	maps.Copy(files, map[string]string{
		"sample": "sample/index.html", "sample in Korean": "sample/index.ko.html",
		"evidence of the sample": "sample/evidence.html", "evidence of the sample in Korean": "sample/evidence.ko.html",
	})
	maps.Copy(files, map[string]string{"handoff": handoff(t), "suite": suite(t), "sweep": sweepSheet(t)})
	tab, _ := openBrowser(t)
	const a4 = 718 // its width in CSS pixels, without Chromium's margins
	for name, look := range map[string]struct {
		width  int64
		scheme browser.Scheme
		boxes  string
	}{
		"wide":  {1280, browser.Light, ".box"},
		"1024":  {1024, browser.Light, ".box"},
		"900":   {900, browser.Light, ".box"},
		"800":   {800, browser.Light, ".box"},
		"700":   {700, browser.Light, ".box"},
		"phone": {390, browser.Light, ".box"},
		"small": {360, browser.Light, ".box"},
		"paper": {a4, browser.Paper, ".box, figure"},
	} {
		for page, file := range files {
			if slices.Contains([]string{"1024", "900", "700"}, name) && (strings.HasPrefix(page, "evidence") || strings.HasSuffix(page, "in Korean")) {
				continue // they are looked at at 800, and fold or not as there
			}
			t.Run(name+"/"+page, func(t *testing.T) {
				if err := browser.Show(tab, file, look.width, 800, look.scheme); err != nil {
					t.Fatal(err)
				}
				cut := evaluate[[]string](tab, t, `(() => {
				  document.querySelectorAll("details").forEach((d) => { d.open = true; });
				  const unhinted = [...document.querySelectorAll("figure.drawing")].filter((e) => e.scrollWidth > e.clientWidth && !e.dataset.hint);
				  const said = (e) => (e.getAttribute("aria-label") || e.className) + ": " + e.scrollWidth + " of " + e.clientWidth;
				  const boxes = [...document.querySelectorAll(`+"`"+look.boxes+"`"+`)];
				  const hidden = [...document.querySelectorAll("tbody td, tbody th")].filter((e) => e.getClientRects().length === 0);
				  const beyond = [...document.querySelectorAll("figure svg.plot text")].filter((e) => {
				    const scroller = e.closest(".across") ?? e.closest("figure");
				    const text = e.getBoundingClientRect(), paper = scroller.getBoundingClientRect();
				    return scroller.scrollWidth <= scroller.clientWidth && (text.right > paper.right || text.left < paper.left);
				  });
				  return [...boxes.filter((e) => e.scrollWidth > e.clientWidth + 1).map(said), ...unhinted.map((e) => "no hint: " + said(e)), ...hidden.map((e) => "hidden: " + e.textContent), ...beyond.map((e) => "beyond its figure: " + e.textContent)];
				})()`)
				if len(cut) > 0 {
					t.Errorf("cut off: %q", cut)
				}
				if look.width < 390 || look.scheme == browser.Paper {
					return
				}
				small := evaluate[[]string](tab, t, `(() => {
				  const unsaid = [...document.querySelectorAll("main *")].filter((e) => e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && !(e.tabIndex === 0 && (e.getAttribute("role") !== "region" || e.getAttribute("aria-label"))));
				  const tiny = new Set([...document.querySelectorAll("svg.plot text")].filter((e) => {
				    const svg = e.ownerSVGElement;
				    return svg.getBoundingClientRect().width > 0 && parseFloat(getComputedStyle(e).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width < 9.6;
				  }).map((e) => "too small: " + e.textContent));
				  return [...unsaid.slice(0, 5).map((e) => "scrolls, out of reach of keys: " + e.className), ...[...tiny].slice(0, 5)];
				})()`)
				if len(small) > 0 {
					t.Errorf("hard to read: %q", small)
				}
			})
		}
	}
}

// TestMatrixFolds: on a small screen each cell says what it means and opens; an address
// opens the one that it names.
func TestMatrixFolds(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	tab, _ := openBrowser(t)
	file := filepath.Join(dir, reports.PageFile)
	const opened = `[...document.querySelectorAll(".matrix details")].filter((d) => d.open).length`
	if err := browser.Show(tab, file, 360, 800, browser.Light); err != nil {
		t.Fatal(err)
	}
	if n := evaluate[int64](tab, t, opened); n != 0 {
		t.Errorf("%d cells are open on a small screen", n)
	}
	if n := evaluate[int64](tab, t, `(location.hash = document.querySelector(".matrix td[id]").id, dispatchEvent(new Event("hashchange")), `+opened+`)`); n != 1 {
		t.Errorf("%d cells are open where an address names one", n)
	}
	if err := browser.Show(tab, file, 1280, 800, browser.Light); err != nil {
		t.Fatal(err)
	}
	if n := evaluate[int64](tab, t, `[...document.querySelectorAll("details.folds")].filter((d) => !d.open).length`); n != 0 {
		t.Errorf("%d are closed on a wide screen, where nothing opens them", n)
	}
}

// TestKeyboardReachesEverything: the tabulator comes to all that can be used, in the order
// in which it stands, and where it is can be seen.
func TestKeyboardReachesEverything(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	tab, _ := openBrowser(t)
	for page, file := range map[string]string{"run": filepath.Join(dir, reports.PageFile), "evidence": withScenes(t)} {
		t.Run(page, func(t *testing.T) {
			if err := browser.Show(tab, file, 1280, 800, browser.Light); err != nil {
				t.Fatal(err)
			}
			// Elements that can be used and that are shown, numbered in their order.
			n := evaluate[int64](tab, t, `(() => {
			  const all = [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")].filter((e) => e.checkVisibility());
			  all.forEach((e, i) => { e.dataset.stop = i; });
			  return all.length;
			})()`)
			if n < 10 {
				t.Fatalf("only %d can be used", n)
			}
			for want := range n {
				if err := chromedp.Do(tab, chromedp.KeyEvent("\t")); err != nil {
					t.Fatal(err)
				}
				type stop struct {
					At   string `json:"at"`
					Seen bool   `json:"seen"`
					What string `json:"what"`
				}
				have := evaluate[stop](tab, t, `(() => {
				  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
				  return {at: e.dataset.stop ?? "", what: e.outerHTML.slice(0, 90), seen: style.outlineStyle !== "none" && box.right > 0 && box.bottom > 0 && box.top < innerHeight};
				})()`)
				if have.At != jsonNumber(want) || !have.Seen {
					t.Fatalf("stop %d of %d: the tabulator is at %q (seen: %v): %s", want, n, have.At, have.Seen, have.What)
				}
			}
		})
	}
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n) //nolint:errchkjson // a number
	return string(text)
}

// handoff is a page of a run of that workload, whose answer has the most columns.
func handoff(t *testing.T) string {
	t.Helper()
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			r := &f.Results[i]
			r.Workload, r.Duplicates, r.PerRepeat = "handoff", nil, nil
			r.Lock += ":ttl=1s,wake=publish" // names with options are as long
			r.Availability, r.Acquired = 0.988, new(0.988)
			r.Verdict.Safety, r.Verdict.Expected.Safety, r.ViolationsAtMS = result.SafetyNotJudged, "", nil
			r.LatencyMS = &result.Quantiles{P50: 783.01, P99: 783.01, P999: 1783.01, Max: 1783.01}
			r.AcquireMS, r.Overlaps = r.LatencyMS, new(int64)
			r.HandoffMS = &result.Quantiles{P50: 518.497535, P99: 880.084991, P999: 1088.145919, Max: 1088.145919}
			r.WakeupsPerHandoff, r.MessagesPerHandoff, r.MessagesPerAcquire = new(12.898550724637681), new(122.028985507246375), new(118.397790055248619)
			r.Fairness, r.PeerFairness, r.RTTMS = new(0.9271281412723568), new(0.9678286558345642), new(2.527735)
			r.AcquireRTT = new(1.8586248162880998)
		}
	})
	generate(t, []string{dir}, "")
	return filepath.Join(dir, reports.PageFile)
}

// suite is a page of a run with claims.
func suite(t *testing.T) string {
	t.Helper()
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		r := f.Results[0]
		evidence := result.Evidence{Lock: r.Lock, Scenario: r.Scenario, Workload: r.Workload, Wanted: []string{"unsafe"}, Verdict: result.ClaimShown}
		f.Run.Claims = []result.Claim{{
			Claim: "Masters without a lock make duplicates.", Source: "Multiphase Lock, introduction", Verdict: result.ClaimShown,
			Evidence: []result.Evidence{evidence},
		}}
	})
	generate(t, []string{dir}, "")
	return filepath.Join(dir, reports.PageFile)
}

// sweepSheet is a page with the drawings of a sweep and a table as wide as its own.
func sweepSheet(t *testing.T) string {
	t.Helper()
	var points []sweep.Point
	for _, lock := range []string{"multiphase", "service of 5 (computed)"} {
		for _, peers := range []int{2, 10, 64} {
			points = append(points, sweep.Point{Lock: lock, Peers: peers, Zones: 3, Messages: float64(peers)})
		}
	}
	page := reports.Sheet{Title: "multiphase against the number of peers", Made: "locklab sim multiphase --sweep peers=2..64"}
	page.Sections = append(page.Sections, reports.SheetSection{Title: "Messages", Drawing: sweep.Draw(lang.English(), sweep.Figures()[0], points)})
	section := reports.SheetSection{Title: "All figures with 3 zones", Columns: []reports.SheetColumn{{Title: "lock"}}, Rows: [][]string{{"service of 5 (computed)"}}}
	for range 9 {
		section.Columns = append(section.Columns, reports.SheetColumn{Title: "acquire, nobody else, median, ms", Number: true})
		section.Rows[0] = append(section.Rows[0], "2,615.43")
	}
	page.Sections = append(page.Sections, section)
	path := filepath.Join(t.TempDir(), reports.PageFile)
	if err := reports.WriteSheet(path, lang.English(), page); err != nil {
		t.Fatal(err)
	}
	if text := pageText(t, path); !strings.Contains(text, "service of 5 (computed)</text>") {
		t.Error("the name of a line is cut off")
	}
	return path
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
