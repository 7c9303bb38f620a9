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

// looks are what a page is looked at for whenever something on it changes: what is there
// for a moment only is not missed by a browser that is slow to answer.
var looks = []struct{ what, script string }{
	{"a node that runs", `document.querySelector("#map .card.up") !== null`},
	{"a room", `document.querySelector("#map .room") !== null`},
	{"a duplicate", `document.querySelector("#map .room.duplicate") !== null && document.querySelector("#log li.bad") !== null`},
	{"a request served", `Number(document.querySelector("#figures b")?.textContent) > 0`},
	{"the cut", `document.querySelectorAll("#map .way.cut").length === 2 && document.getElementById("log").textContent.includes("broken, and proven")`},
	{"the heal", `shown.has("the cut") && document.querySelectorAll("#map .way.well").length === 2 && document.getElementById("log").textContent.includes("healed, and proven")`},
	{"the verdict", `document.querySelector("#verdicts td:not(.running):not(.left)") !== null`},
}

// lookout is the script that looks.
func lookout() string {
	script := "(() => {\nglobalThis.shown = new Set();\nglobalThis.looks = {\n"
	for _, l := range looks {
		script += fmt.Sprintf("%q: () => %s,\n", l.what, l.script)
	}
	return script + `};
const look = () => { for (const what in looks) if (!shown.has(what) && looks[what]()) shown.add(what); };
new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
look();
return true;
})()`
}

// TestE2ELivePage watches a small comparison in a browser: things move, a zone is cut, the
// duplicates are those of the report, and the page asks nobody else for anything.
func TestE2ELivePage(t *testing.T) {
	for attempt := 1; ; attempt++ {
		wrong, excuse := watchRun(t)
		switch {
		case wrong == "":
			return
		case excuse == "":
			t.Fatal(wrong)
		case attempt == attempts:
			t.Skipf("three times %s, the last time: %s", excuse, wrong)
		}
		t.Logf("%s: %s", excuse, wrong)
	}
}

// watchRun says what was wrong with the page of one run, and what of the machine may be to
// blame for it.
func watchRun(t *testing.T) (wrong, excuse string) {
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
	asked := clock.Mono()
	w, err := browser.Follow(tab, url+"/")
	if err != nil {
		t.Fatal(err)
	}
	if err := browser.Visit(tab, url+"/?lang=en", 1280, 900, browser.Light); err != nil {
		t.Fatal(err)
	}
	eventually(tab, t, "that it is looked at", lookout())
	slowest := time.Duration(clock.Mono() - asked)
	for over := false; !over; {
		asked = clock.Mono()
		if over, err = chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf(`document.body.dataset.state === "ended" || shown.size === %d`, len(looks)))); err != nil {
			t.Fatalf("look at the page: %v", err)
		}
		slowest = max(slowest, time.Duration(clock.Mono()-asked))
		if !over && clock.Sleep(tab, 50*time.Millisecond) != nil {
			t.Fatalf("the page never ended:\n%s", textOf(tab))
		}
	}
	for _, found := range w.Take() {
		t.Error("the page made " + found)
	}
	eventually(tab, t, "the end", `document.body.dataset.state === "ended" && document.getElementById("now").textContent.includes("index.html")`)
	lab.end()

	r := row(t, read(t, out), "none", "zone-partition")
	if missed, err := chromedp.Run(tab, chromedp.Evaluate[string](`Object.keys(looks).filter((what) => !shown.has(what)).join(", ")`)); err != nil {
		t.Fatal(err)
	} else if missed != "" {
		wrong = fmt.Sprintf("the page never showed %s:\n%s", missed, textOf(tab))
	}
	want := fmt.Sprint(r.Figures["duplicates"])
	counted, err := chromedp.Run(tab, chromedp.Evaluate[string](`document.querySelector("#figures .tile.bad b").textContent`))
	if err != nil || strings.ReplaceAll(counted, ",", "") != want {
		wrong += fmt.Sprintf("\nthe page counted %s duplicates, the report has %s: %v", counted, want, err)
	}
	const soon = time.Second // what the page showed for less may be gone
	switch {
	case !r.Decided():
		excuse = fmt.Sprintf("the run decided nothing (%+v)", r.Verdict)
	case slowest > soon:
		excuse = fmt.Sprintf("the browser took %v to answer", slowest)
	}
	return wrong, excuse
}

// eventually asks the page until the script is true.
func eventually(tab context.Context, t *testing.T, what, script string) {
	t.Helper()
	for {
		if is, err := chromedp.Run(tab, chromedp.Evaluate[bool](script)); err == nil && is {
			return
		}
		if clock.Sleep(tab, 50*time.Millisecond) != nil {
			t.Fatalf("the page never showed %s:\n%s", what, textOf(tab))
		}
	}
}

// textOf is what a reader sees of the page, also when its time is up.
func textOf(tab context.Context) string {
	tab, cancel := context.WithTimeout(context.WithoutCancel(tab), 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}
