// Command record takes pictures of a live page while a run goes on:
//
//	go run ./reports/internal/record [-width 1280] [-height 900] [-scheme light|dark] [-every 500ms] [-frames 20] URL out
//
// It writes out-00.png, out-01.png and so on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
	"locklab/locks/clock"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own, for make recording
	}
}

func run() error {
	width := flag.Int64("width", 1280, "width of the window in CSS pixels")
	height := flag.Int64("height", 900, "height of the window in CSS pixels")
	scheme := flag.String("scheme", "light", "colour scheme: light or dark")
	every := flag.Duration("every", 500*time.Millisecond, "time between two pictures")
	frames := flag.Int("frames", 20, "how many pictures")
	full := flag.Bool("full", false, "the whole page, not only what fits into the window")
	flag.Parse()
	if flag.NArg() != 2 {
		return fmt.Errorf("want URL and out")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := browser.Visit(tab, flag.Arg(0), *width, *height, browser.Scheme(*scheme)); err != nil {
		return err
	}
	take := chromedp.CaptureScreenshot()
	if *full {
		take = chromedp.FullScreenshot(100)
	}
	for i := range *frames {
		picture, err := chromedp.Run(tab, take)
		if err != nil {
			return fmt.Errorf("take the picture: %w", err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s-%02d.png", flag.Arg(1), i), picture, 0o644); err != nil { //nolint:gosec // pictures for everybody
			return err
		}
		if err := clock.Sleep(ctx, *every); err != nil {
			return err
		}
	}
	return nil
}
