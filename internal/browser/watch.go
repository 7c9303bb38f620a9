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
