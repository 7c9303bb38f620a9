package live

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// eventually runs the script until it is true.
func eventually(tab context.Context, t *testing.T, what, script string) {
	t.Helper()
	for {
		is, err := chromedp.Run(tab, chromedp.Evaluate[bool](script))
		if err == nil && is {
			return
		}
		if clock.Sleep(tab, 50*time.Millisecond) != nil {
			text, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("%s never was: %v\n%s", what, err, text)
		}
	}
}

// TestPageFollowsARun opens the page in a browser while a small run is told to the board,
// switches language and theme, and has the server break and come back.
func TestPageFollowsARun(t *testing.T) {
	b := board(t)
	h := b.Handler()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	addr := listener.Addr().String()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	must.Do(t, err)
	defer stop()
	w, err := browser.Follow(tab, "http://"+addr+"/")
	must.Do(t, err)
	silent := func(when string) {
		t.Helper()
		for _, found := range w.Take() {
			t.Errorf("%s the page made %s", when, found)
		}
	}
	begin := clock.Mono()
	b.Begin(aRun())
	for _, e := range recorded()[:13] {
		e.AtNS, e.FromNS = e.AtNS+begin, e.FromNS+begin
		b.Record(e)
	}
	for _, width := range []int64{360, 1280} {
		for _, scheme := range []browser.Scheme{browser.Light, browser.Dark} {
			must.Do(t, browser.Visit(tab, "http://"+addr+"/?lang=en", width, 800, scheme))
			eventually(tab, t, "the map", `document.querySelector("#map svg .card.up") !== null && document.querySelector("#rate svg") !== null`)
			if have, err := chromedp.Run(tab, chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); err != nil || have > width {
				t.Errorf("the page is %d pixels wide in a window of %d: %v", have, width, err)
			}
			silent("in the beginning")
		}
	}

	eventually(tab, t, "whole ways", `document.querySelectorAll("#map .way.well").length === 2`)
	for _, e := range recorded()[13:15] {
		e.AtNS += begin
		b.Record(e)
	}
	eventually(tab, t, "cut ways", `document.querySelectorAll("#map .way.cut").length === 2`)
	b.Record(history.Event{Kind: history.KindNode, AtNS: clock.Mono(), Node: "m-c", State: history.NodeKilled})
	eventually(tab, t, "a dead node", `document.querySelector("#map .card.dead") !== null`)

	dark := `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) < 200`
	eventually(tab, t, "the dark scheme", dark)
	for _, want := range []string{"!(" + dark + ")", dark} {
		if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](`(document.getElementById("theme").click(), true)`)); err != nil {
			t.Fatal(err)
		}
		eventually(tab, t, "the other theme", want)
	}
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](`(document.querySelector(".switches a").click(), true)`)); err != nil {
		t.Fatal(err)
	}
	eventually(tab, t, "Korean", `document.documentElement.lang === "ko" && document.getElementById("now").textContent.includes("실행")`)
	silent("until its server broke")

	must.Do(t, server.Close())
	eventually(tab, t, "the notice of the break", `document.body.dataset.state === "lost" && !document.getElementById("connection").hidden`)
	if listener, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	again := server
	go func() { _ = again.Serve(listener) }()
	b.Note("after the break")
	eventually(tab, t, "what came after the break", `document.body.dataset.state === "live" && document.getElementById("log").textContent.includes("after the break")`)
	for _, found := range w.Take() {
		if strings.HasPrefix(found, "a request") || strings.HasPrefix(found, "an exception") {
			t.Errorf("after the break the page made %s", found)
		}
	}
}

// TestAPressOutlivesNews: a button that is pressed while the parts around it change does what
// it says, keeps the focus, and is not taken for another one.
func TestAPressOutlivesNews(t *testing.T) {
	lab := &pretended{state: ControlState{Lock: "none", Running: true, Locks: []string{"none", "raft"}, PerS: 300, MostPerS: 2000, Zones: []string{"a", "c"}, Faults: []history.Event{
		{ID: "cut-1", Fault: "partition", Target: "between zones", State: "began"},
		{ID: "kill-1", Fault: "kill", Target: "node:m-a"},
	}}}
	s := served(t, boardOf(t, Info{Title: "a test", Control: lab, Zones: []Zone{{"zone a", "a"}, {"zone c", "c"}}}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	must.Do(t, err)
	defer stop()
	must.Do(t, browser.Visit(tab, s.URL+"/?lang=en", 1280, 1200, browser.Light))
	change := func(to func(*ControlState)) {
		lab.mu.Lock()
		defer lab.mu.Unlock()
		to(&lab.state)
	}
	for _, c := range []struct {
		button string
		news   func(*ControlState)
		seen   string // of the news, on the page
		want   string
	}{
		{`[data-lock="raft"]`, func(s *ControlState) { s.PerS = 600 }, `document.querySelector("[data-per-s]").dataset.perS === "600"`, "switch raft"},
		{`[data-id="kill-1"]`, func(s *ControlState) { s.Faults[1].State = "began" }, `document.querySelector("#broken ul").textContent.includes("kill of node:m-a: broken, and proven")`, `heal "kill-1"`},
		{`[data-id="kill-1"]`, func(s *ControlState) { s.Faults = s.Faults[1:] }, `document.querySelectorAll("#broken li").length === 1`, `heal "kill-1"`},
		{`[data-id="kill-1"]`, func(s *ControlState) {
			s.Faults = append([]history.Event{{ID: "cut-2", Fault: "partition", Target: "between zones"}}, s.Faults...)
		}, `document.querySelectorAll("#broken li").length === 2`, `heal "kill-1"`},
	} {
		at := `(() => { const b = document.querySelector('` + c.button + `'); if (!b) return [-1, -1]; b.scrollIntoView({block: "center"}); const r = b.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`
		eventually(tab, t, c.button, at+`[0] > 0`)
		place, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](at))
		must.Do(t, err)
		mouse := func(kind input.DispatchMouseEventType, x, y float64) {
			t.Helper()
			if _, err := chromedp.Run(tab, chromedp.MouseEvent(kind, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))); err != nil {
				t.Fatal(err)
			}
		}
		mouse(input.DispatchMouseEventTypeMousePressed, place[0], place[1])
		change(c.news)
		eventually(tab, t, "the news", c.seen)
		eventually(tab, t, "the focus on "+c.button, `document.activeElement?.matches('`+c.button+`')`)
		if place, err = chromedp.Run(tab, chromedp.Evaluate[[]float64](at)); err != nil { // what is new may have moved it
			t.Fatal(err)
		}
		mouse(input.DispatchMouseEventTypeMouseReleased, place[0], place[1])
		for did := ""; did != c.want; {
			if did = strings.Join(lab.took(), ", "); did != "" && did != c.want {
				t.Errorf("the press of %s did %q, want %q", c.button, did, c.want)
				break
			}
			if err := clock.Sleep(tab, 10*time.Millisecond); err != nil {
				t.Fatalf("the press of %s was lost: want %q", c.button, c.want)
			}
		}
	}
}
