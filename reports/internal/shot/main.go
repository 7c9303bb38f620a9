// Command shot takes the picture of a report's grid and plots for the README:
//
//	go run ./reports/internal/shot PAGE OUT.png
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/browser"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own, for make sample
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("want a page and the name of its picture")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tab, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	const width, margin = 1280, 8
	bottom := 900.0 // until the end of the first section of plots is known
	for range 2 {
		err := browser.Show(tab, args[0], width, int64(bottom)+margin, browser.Light)
		if err != nil {
			return err
		}
		bottom, err = chromedp.Run(tab, chromedp.Evaluate[float64](`(
			document.getElementById("grid").scrollIntoView({behavior: "instant"}),
			document.getElementById("served").getBoundingClientRect().bottom)`))
		if err != nil {
			return fmt.Errorf("find grid and served: %w", err)
		}
	}
	picture, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take the picture: %w", err)
	}
	return os.WriteFile(args[1], picture, 0o644) //nolint:gosec // a picture for everybody
}
