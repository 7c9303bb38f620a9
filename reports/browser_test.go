package reports_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/internal/testfile"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
)

func openBrowser(t *testing.T) (context.Context, *browser.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a tab that hangs tells where
	t.Cleanup(cancel)
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	w, err := browser.Follow(tab, "file://")
	if err != nil {
		t.Fatal(err)
	}
	return tab, w
}

func evaluate[T any](tab context.Context, t *testing.T, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

func TestPageInTheBrowser(t *testing.T) {
	one := sample(t)
	generate(t, []string{one}, "")
	hostileDir := sample(t)
	edit(t, hostileDir, func(f *result.File) {
		f.Results[1].Lock = hostile + strings.Repeat("long", 60)
		f.Results[4].Lock = f.Results[1].Lock
		f.Run.Command = strings.Repeat("command", 60)
		f.Run.Warnings = append(f.Run.Warnings, strings.Repeat("warning", 40))
	})
	generate(t, []string{hostileDir}, "")
	empty := sample(t)
	edit(t, empty, func(f *result.File) { f.Results, f.Run.Interrupted = nil, true })
	generate(t, []string{empty}, "")
	compared := t.TempDir()
	generate(t, []string{one, hostileDir}, compared)

	tab, w := openBrowser(t)
	for name, file := range map[string]string{
		"run": filepath.Join(one, reports.PageFile), "hostile": filepath.Join(hostileDir, reports.PageFile),
		"empty": filepath.Join(empty, reports.PageFile), "comparison": filepath.Join(compared, reports.PageFile),
		"list": listed(t, one, hostileDir, empty), "sheet": sheet(t), "evidence": withScenes(t), "hostile evidence": filepath.Join(hostileDir, reports.EvidenceFile),
	} {
		for _, scheme := range []browser.Scheme{browser.Light, browser.Dark} {
			for _, width := range []int64{360, 768, 1280} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, scheme, width), func(t *testing.T) {
					if err := browser.Show(tab, file, width, 800, scheme); err != nil {
						t.Fatal(err)
					}
					if have := evaluate[int64](tab, t, `document.documentElement.scrollWidth`); have > width {
						wide := evaluate[[]string](tab, t, `[...document.querySelectorAll("body *")].filter((e) => !e.closest(".box, svg") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 5)`)
						t.Errorf("the page is %d pixels wide; too wide are %v", have, wide)
					}
					dark := evaluate[bool](tab, t, `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return r + g + b < 200; })()`)
					if dark != (scheme == browser.Dark) {
						t.Errorf("the background does not follow the %s scheme", scheme)
					}
					if bad := evaluate[[]string](tab, t, browser.Contrasts); len(bad) > 0 {
						t.Errorf("too little contrast: %v", bad)
					}
					for _, found := range w.Take() {
						t.Error("the page made " + found)
					}
				})
			}
		}
	}
}

// listed is a page that lists the runs.
func listed(t *testing.T, dirs ...string) string {
	t.Helper()
	found := []reports.Listed{{Name: "comparison"}}
	for _, f := range files(t, dirs...) {
		found = append(found, reports.Listed{Name: strings.Repeat("name", 30), Digest: reports.DigestOf(lang.English(), f)})
	}
	page, err := reports.ListPage(lang.English(), found)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.html")
	testfile.Write(t, path, page)
	return path
}

func TestPageSorts(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	tab, w := openBrowser(t)
	if err := browser.Show(tab, filepath.Join(dir, reports.PageFile), 1280, 800, browser.Light); err != nil {
		t.Fatal(err)
	}
	const click = `(() => {
	  const head = [...document.querySelectorAll("table.details tr.names th")].find((h) => h.textContent === "p99");
	  const table = head.closest("table"), heads = [...table.querySelectorAll("tr.names th")], i = heads.indexOf(head);
	  heads[i].querySelector("button").click();
	  return {sort: heads[i].getAttribute("aria-sort"), values: [...table.tBodies[0].rows].map((r) => r.cells[i].dataset.v)};
	})()`
	type sorted struct {
		Sort   string   `json:"sort"`
		Values []string `json:"values"`
	}
	for _, want := range []struct {
		sort   string
		before func(a, b float64) bool
	}{
		{"ascending", func(a, b float64) bool { return a <= b }},
		{"descending", func(a, b float64) bool { return a >= b }},
	} {
		have := evaluate[sorted](tab, t, click)
		if have.Sort != want.sort || len(have.Values) != 6 {
			t.Fatalf("sorted %q with %d rows, want %q with 6", have.Sort, len(have.Values), want.sort)
		}
		for i := 1; i < len(have.Values); i++ {
			var a, b float64
			if _, err := fmt.Sscan(have.Values[i-1]+" "+have.Values[i], &a, &b); err != nil || !want.before(a, b) {
				t.Errorf("%s: %q stands before %q (%v)", want.sort, have.Values[i-1], have.Values[i], err)
			}
		}
	}
	for _, found := range w.Take() {
		t.Error("the page made " + found)
	}
}
