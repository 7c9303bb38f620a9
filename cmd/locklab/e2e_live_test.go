//go:build e2e

package main_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/locks/clock"
)

// TestE2ELivePage watches a small comparison in a browser: things move, a zone is cut, the
// duplicates are those of the report, and the page asks nobody else for anything.
func TestE2ELivePage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	out := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "run", "--ui", "127.0.0.1:0", "--locks", "none", "--scenarios", "zone-partition", "--duration", "6s", "--out", out)
	lab.said.awaitLine(t, "live page at")
	first, _, _ := strings.Cut(lab.said.String(), "\n")
	url := regexp.MustCompile(`http://\S+`).FindString(first)
	if url == "" {
		t.Fatalf("the first line has no address: %q", first)
	}
	w, err := browser.Follow(tab, url+"/")
	if err != nil {
		t.Fatal(err)
	}
	if err := browser.Visit(tab, url+"/?lang=en", 1280, 900, browser.Light); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, script string }{
		{"a node that runs", `document.querySelector("#map .card.up") !== null`},
		{"a room", `document.querySelector("#map .room") !== null`},
		{"a duplicate", `document.querySelector("#map .room.duplicate") !== null && document.querySelector("#log li.bad") !== null`},
		{"a request served", `Number(document.querySelector("#figures b").textContent) > 0`},
		{"the cut", `document.querySelectorAll("#map .way.cut").length === 2 && document.getElementById("log").textContent.includes("Broken, and proven")`},
		{"the heal", `document.querySelectorAll("#map .way.well").length === 2 && document.getElementById("log").textContent.includes("Healed, and proven")`},
		{"the verdict", `document.querySelector("#verdicts .status")?.textContent.includes("as expected") || document.querySelector("#verdicts .status")?.textContent.includes("inconclusive")`},
	} {
		eventually(tab, t, c.what, c.script)
	}
	for _, found := range w.Take() {
		t.Error("the page made " + found)
	}
	eventually(tab, t, "the end", `document.body.dataset.state === "ended" && document.getElementById("now").textContent.includes("index.html")`)
	lab.end()
	d := row(t, read(t, out), "none", "zone-partition").Duplicates
	want := fmt.Sprint(d.Raced + d.Overlooked + d.Warmup)
	shown, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#figures .tile.bad b").textContent`))
	if err != nil || strings.ReplaceAll(shown, ",", "") != want {
		t.Errorf("the page counted %s duplicates, the report has %s: %v", shown, want, err)
	}
}

// eventually asks the page until the script is true.
func eventually(tab context.Context, t *testing.T, what, script string) {
	t.Helper()
	for {
		if is, err := chromedp.Run(tab, chromedp.Evaluate[bool](script)); err == nil && is {
			return
		}
		if clock.Sleep(tab, 50*time.Millisecond) != nil {
			text, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("the page never showed %s:\n%s", what, text)
		}
	}
}
