//go:build e2e

package main_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/clock"
	"locklab/workloads/result"
)

// TestE2EPlay plays in a browser as a person does: a fault by a button, another lock and load, a cut,
// in Korean too; the report has all of it, and judges none.
func TestE2EPlay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	must.Do(t, err)
	defer stop()
	out := filepath.Join(t.TempDir(), "out")
	lab := begin(t, nil, "play", "--locks", "none,multiphase", "--rate", "150", "--out", out)
	lab.said.awaitLine(t, "in a browser")
	url := regexp.MustCompile(`http://[^\s/]+`).FindString(lab.said.String())
	w, err := browser.Follow(tab, url+"/")
	must.Do(t, err)
	visit := func(tag string) {
		t.Helper()
		must.Do(t, browser.Visit(tab, url+"/?lang="+tag, 1280, 1400, browser.Light))
	}
	shows := func(what, script string) {
		t.Helper()
		eventually(tab, t, what, script)
	}
	shot := func(name string) {
		t.Helper()
		dir := os.Getenv("LOCKLAB_SCREENSHOTS")
		if dir == "" {
			return
		}
		png, err := chromedp.Run(tab, chromedp.FullScreenshot(100))
		must.Do(t, err)
		testfile.Write(t, filepath.Join(dir, name+".png"), png)
	}
	click := func(selector string) {
		t.Helper()
		press(tab, t, selector)
	}
	visit("en")
	shows("a lab that runs", `document.querySelector('#choices button[aria-pressed="true"]:not(:disabled)')?.dataset.lock === "none"`)
	shows("duplicates without a lock", `/[1-9]/.test(document.querySelector("#figures .tile.bad b")?.textContent)`)
	shot("tour-1")

	choose(tab, t, "node", "node:worker-c-1")
	click(`button[data-do="kill"]`)
	shows("the proof", `document.getElementById("broken").textContent.includes("kill of node:worker-c-1: broken, and proven") && document.querySelector("#map .card.dead") !== null`)
	shot("killed")
	click(`button[data-do="kill"]`)
	shows("why not twice", `document.getElementById("refused").textContent.includes("node worker-c-1 is broken already")`)
	click(`#broken button[data-id="kill-1"]`)
	shows("the heal", `document.getElementById("broken").textContent.includes("Nothing is broken") && document.querySelector("#map .card.dead") === null`)
	shows("another load", `(() => { const load = document.getElementById("load"); load.value = 300; load.dispatchEvent(new Event("input")); load.dispatchEvent(new Event("change")); return true; })()`)
	shows("that load", `document.querySelector("[data-per-s]").dataset.perS === "300"`)

	click(`#choices button[data-lock="multiphase"]`)
	shows("no duplicates", `document.querySelector('#choices button[aria-pressed="true"]:not(:disabled)')?.dataset.lock === "multiphase" && document.querySelector("#figures .tile.ok b")?.textContent === "0"`)
	shot("tour-2")
	visit("ko")
	shows("Korean", `document.querySelector(".stops").textContent.includes("마스터끼리")`)
	click(`#targets button[data-do="cut"]`)
	shows("the split", `document.querySelector("#figures .tile.bad") !== null && document.querySelectorAll("#map .way.cut").length === 2`)
	shot("tour-3-ko")
	found := w.Take()
	if i := slices.IndexFunc(found, func(f string) bool { return strings.Contains(f, "409") }); i >= 0 { // the browser's own word for what was refused above
		found = slices.Delete(found, i, i+1)
	}
	for _, f := range found {
		t.Error("the page made " + f)
	}
	lab.signal(t, os.Interrupt)
	lab.wants(t, 0)

	file := read(t, out)
	done := func(lock, kind string) result.Fault {
		t.Helper()
		r := row(t, file, lock, "play")
		i := slices.IndexFunc(r.Faults, func(f result.Fault) bool { return f.Kind == kind })
		if i < 0 {
			t.Fatalf("%s: the ledger has %+v, and no %s", lock, r.Faults, kind)
		}
		return r.Faults[i]
	}
	if f := done("none", "kill"); !f.Proven || !slices.Equal(f.Nodes, []string{"worker-c-1"}) || f.EndedMS <= f.BeganMS {
		t.Errorf("killed %+v", f)
	}
	if f := done("multiphase", "partition"); !f.Proven || f.Target != "between zones" {
		t.Errorf("cut %+v", f)
	}
	if n := row(t, file, "none", "play").Figures["offered_per_s"]; n <= 150 || n >= 300 {
		t.Errorf("%v offered a second", n)
	}
	for _, r := range file.Rows {
		if as := r.Verdict.As; !r.Played || as != result.AsExpected && as != result.Unsound {
			t.Errorf("%s: played %v, %s", r.Lock, r.Played, as)
		}
	}
	page := testfile.Read(t, filepath.Join(out, "index.html"))
	for _, want := range []string{"node:worker-c-1", "between zones"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	nothingLeft(t)
}

// press clicks a button once it is there and can be.
func press(tab context.Context, t *testing.T, selector string) {
	t.Helper()
	eventually(tab, t, selector, `(() => { const b = document.querySelector('`+selector+`'); if (!b || b.disabled) return false; b.click(); return true; })()`)
}

// choose takes one of the values that a list offers.
func choose(tab context.Context, t *testing.T, id, value string) {
	t.Helper()
	eventually(tab, t, value, `(() => { const list = document.getElementById("`+id+`"); list.value = "`+value+`"; list.dispatchEvent(new Event("change", {bubbles: true})); return list.value === "`+value+`"; })()`)
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
