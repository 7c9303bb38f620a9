// Command shot takes the picture of a report for the README:
//
//	go run ./reports/internal/shot [-width 1280] [-height 900] [-scheme light|dark] [-full] [-at ID [-until SELECTOR]] [-page FILE] DIR out.png
//
// DIR is a run's directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/reports/page"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own, for make screenshot
	}
}

func run() error {
	width := flag.Int64("width", 1280, "width of the window in CSS pixels")
	height := flag.Int64("height", 900, "height of the window in CSS pixels")
	scheme := flag.String("scheme", "light", "colour scheme: light or dark")
	full := flag.Bool("full", false, "the whole page, not only what fits into the window")
	at := flag.String("at", "", "id of what is to stand at the top of the window")
	until := flag.String("until", "", "CSS selector of what is to end the picture, in place of -height")
	file := flag.String("page", page.File, "file of DIR to take the picture of")
	flag.Parse()
	if flag.NArg() != 2 || (*scheme != "light" && *scheme != "dark") {
		return fmt.Errorf("want DIR and out.png, and -scheme light or dark")
	}
	dir, out := flag.Arg(0), flag.Arg(1)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	show := func() error {
		if err := browser.Show(tab, filepath.Join(dir, *file), *width, *height, browser.Scheme(*scheme)); err != nil || *at == "" {
			return err
		}
		if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf(`(document.getElementById(%q).scrollIntoView({behavior: "instant"}), true)`, *at))); err != nil {
			return fmt.Errorf("find what has the id %s: %w", *at, err)
		}
		return nil
	}
	if err := show(); err != nil {
		return err
	}
	if *until != "" {
		const margin = 8
		bottom, err := chromedp.Run(tab, chromedp.Evaluate[float64](fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().bottom`, *until)))
		if err != nil {
			return fmt.Errorf("find what ends the picture, %s: %w", *until, err)
		}
		*height = int64(bottom) + margin
		if err := show(); err != nil {
			return err
		}
	}
	if err := readable(tab); err != nil {
		return err
	}
	take := chromedp.CaptureScreenshot()
	if *full {
		take = chromedp.FullScreenshot(100)
	}
	picture, err := chromedp.Run(tab, take)
	if err != nil {
		return fmt.Errorf("take the picture: %w", err)
	}
	return os.WriteFile(out, picture, 0o644) //nolint:gosec // a picture for everybody
}

// readable says that the browser has the letters of a page in Korean: of those that it lacks, each is
// the same empty box.
func readable(tab context.Context) error {
	const alike = `(() => {
		if (document.documentElement.lang !== "ko") { return false }
		const drawn = letter => {
			const c = document.createElement("canvas"), pen = c.getContext("2d")
			pen.font = "40px " + getComputedStyle(document.body).fontFamily
			pen.fillText(letter, 10, 60)
			return c.toDataURL()
		}
		return drawn("가") === drawn("뷁")
	})()`
	boxes, err := chromedp.Run(tab, chromedp.Evaluate[bool](alike))
	if err != nil {
		return fmt.Errorf("look for Korean letters: %w", err)
	}
	if boxes {
		return errors.New("there are no Korean letters on this machine, each would be an empty box: want fonts-noto-cjk (apt-get install fonts-noto-cjk)")
	}
	return nil
}
