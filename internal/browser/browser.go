// Package browser opens pages in headless Chromium, for tests.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// ErrMissing says that there is no Chromium.
var ErrMissing = errors.New("no chromium found in PATH: install it with `apt-get install chromium`")

// Scheme is the colour scheme that the page is told to use.
type Scheme string

// The schemes.
const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
)

// startLimit is how long the browser may take to start: on a busy machine longer than
// the 20 s that chromedp gives it.
const startLimit = 2 * time.Minute

// Start starts a browser. The context drives it with chromedp; the function stops
// it and removes what it wrote.
func Start(ctx context.Context) (context.Context, func(), error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, nil, ErrMissing
	}
	profile, err := os.MkdirTemp("", "locklab-browser-*")
	if err != nil {
		return nil, nil, fmt.Errorf("create the browser's profile: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(profile),
		chromedp.WSURLReadTimeout(startLimit))
	allocated, stopProcess := chromedp.NewExecAllocator(ctx, options...)
	tab, closeTab := chromedp.NewContext(allocated)
	stop := func() {
		closeTab()
		stopProcess()
		_ = os.RemoveAll(profile) // what is left of a profile harms nobody
	}
	if err := chromedp.Do(tab); err != nil { // starts it, bound to a context without a deadline of its own
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return tab, stop, nil
}

// Visit opens an address in a window of the given size in CSS pixels.
func Visit(tab context.Context, url string, width, height int64, scheme Scheme) error {
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: string(scheme)},
		{Name: "prefers-reduced-motion", Value: "reduce"}, // to be where a key led, and not on the way
	}}
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, media); err != nil {
		return fmt.Errorf("set the colour scheme: %w", err)
	}
	if err := chromedp.Do(tab, chromedp.EmulateViewport(width, height), chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("open %s: %w", url, err)
	}
	return nil
}
