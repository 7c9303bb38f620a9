package reports_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"locklab/reports"
	"locklab/reports/internal/browser"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// watch collects what a page must not do: write to the console, throw, or ask for
// anything but itself.
type watch struct {
	mu    sync.Mutex
	found []string
}

func (w *watch) event(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if url := ev.Request.URL; !strings.HasPrefix(url, "file://") && !strings.HasPrefix(url, "data:") {
			w.found = append(w.found, "a request: "+url)
		}
	case *runtime.EventExceptionThrown:
		w.found = append(w.found, "an exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.found = append(w.found, fmt.Sprintf("a message on the console: %v", ev.Type))
	case *log.EventEntryAdded:
		w.found = append(w.found, "a log entry: "+ev.Entry.Text)
	}
}

func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.found
	w.found = nil
	return found
}

func openBrowser(t *testing.T) (context.Context, *watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a tab that hangs tells where
	t.Cleanup(cancel)
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	w := &watch{}
	if err := chromedp.Listen(tab, w.event); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(tab, runtime.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(tab, log.Enable, cdp.Empty{}); return err },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
		}
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

// contrasts measures, for every kind of text, the contrast with what is behind it
// as WCAG defines it; it returns those below the ratio.
const contrasts = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = (c) => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; }; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
  const bad = new Set();
  const check = (e, colour, ratio) => {
    const a = light(rgba(colour)), b = light(ground(e));
    const have = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (have < ratio) bad.add(e.tagName + "." + (e.getAttribute("class") || "") + " " + colour + " " + have.toFixed(2));
  };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (e.tagName === "text") check(e, getComputedStyle(e).fill, 4.5);
    else if (e.closest("svg") === null && own && e.tagName !== "SCRIPT") check(e, getComputedStyle(e).color, 4.5);
    else if (e.matches("path.st") && !e.matches(".k-grid")) check(e, getComputedStyle(e).stroke, 3);
    else if (e.matches(".swatch")) check(e.parentElement, getComputedStyle(e).backgroundColor, 3);
  }
  return [...bad];
})()`

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
					if bad := evaluate[[]string](tab, t, contrasts); len(bad) > 0 {
						t.Errorf("too little contrast: %v", bad)
					}
					for _, found := range w.take() {
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
	for _, dir := range dirs {
		f, err := result.Read(filepath.Join(dir, result.FileName))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, reports.Listed{Name: strings.Repeat("name", 30), Digest: reports.DigestOf(lang.English(), f)})
	}
	page, err := reports.ListPage(lang.English(), found)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
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
	for _, found := range w.take() {
		t.Error("the page made " + found)
	}
}
