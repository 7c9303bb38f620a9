package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Watch collects what a page must not do: write to the console, throw, or ask for anything
// but what it may.
type Watch struct {
	origins []string
	mu      sync.Mutex
	found   []string
}

// Follow watches a tab, whose pages may ask for what begins with one of the origins.
func Follow(tab context.Context, origins ...string) (*Watch, error) {
	w := &Watch{origins: append(origins, "data:")}
	if err := chromedp.Listen(tab, w.event); err != nil {
		return nil, err
	}
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(tab, runtime.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(tab, log.Enable, cdp.Empty{}); return err },
	} {
		if err := enable(); err != nil {
			return nil, fmt.Errorf("watch the browser: %w", err)
		}
	}
	return w, nil
}

func (w *Watch) event(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !slices.ContainsFunc(w.origins, func(origin string) bool { return strings.HasPrefix(ev.Request.URL, origin) }) {
			w.found = append(w.found, "a request: "+ev.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		w.found = append(w.found, "an exception: "+ev.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.found = append(w.found, fmt.Sprintf("a message on the console: %v", ev.Type))
	case *log.EventEntryAdded:
		w.found = append(w.found, "a log entry: "+ev.Entry.Text)
	}
}

// Take gives what was found since the last time.
func (w *Watch) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.found
	w.found = nil
	return found
}

// Contrasts is a script that measures, for every kind of text, the contrast with what is behind it
// as WCAG defines it; it returns those below the ratio.
const Contrasts = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const f = (c) => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b);
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] > 250) return c;
    }
    return [255, 255, 255, 255];
  };
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
