package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/atomicfile"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// ofSummary is what --lang means to a command that makes a report.
const ofSummary = "the summary"

// langFlag adds --lang, the language of that. The root says what may be its value.
func langFlag(flags *pflag.FlagSet, tag *string, of string) {
	flags.StringVar(tag, "lang", lang.EnglishTag, "language of "+of+": en or ko")
}

func language(tag string) (*lang.Lang, error) {
	say, err := lang.Of(tag)
	return say, named(fmt.Sprintf("--lang %q", tag), err)
}

func pagePath(say *lang.Lang, dir string) string {
	return filepath.Join(dir, view.FileIn(say, view.PageFile))
}

// writeReport makes all files of a report from the result and the histories in a directory.
func writeReport(ctx context.Context, f result.File, dir, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return err
	}
	write := func(name string, make func(w io.Writer) error) error {
		var text bytes.Buffer
		if err := make(&text); err != nil {
			return err
		}
		return atomicfile.Write(filepath.Join(out, name), text.Bytes())
	}
	if err := write("results.csv", func(w io.Writer) error { return view.CSV(w, f) }); err != nil {
		return err
	}
	for _, say := range lang.All() {
		err := write(view.FileIn(say, "report.md"), func(w io.Writer) error {
			return view.Markdown(w, f, say, view.Options{Page: view.FileIn(say, view.PageFile)})
		})
		if err != nil {
			return err
		}
	}
	return view.WritePages(ctx, out, dir, f, lab.Open(dir))
}

// show tells of a run that has ended.
type show struct {
	say         *lang.Lang
	stdout      io.Writer
	full, suite bool
}

// publish writes the result and the report, and prints the first screen, with the exit code.
func (s show) publish(ctx context.Context, f result.File, dir string, code int) error {
	ctx = context.WithoutCancel(ctx) // an interrupted run still gets its report
	if err := result.Write(filepath.Join(dir, result.FileName), f); err != nil {
		return err
	}
	if err := writeReport(ctx, f, dir, dir); err != nil {
		return err
	}
	fmt.Fprintln(s.stdout)
	options := view.Options{Width: widthOf(s.stdout), Page: pagePath(s.say, dir), Exit: code}
	switch {
	case s.full:
		return view.Full(s.stdout, f, s.say, options)
	case s.suite:
		return view.Digest(s.stdout, f, s.say, options)
	default:
		return view.Console(s.stdout, f, s.say, options)
	}
}

// gridOf draws the rows of a comparison that goes on.
func gridOf(say *lang.Lang, parts []lab.Config) progress.Grid {
	grids := lab.Grids(parts)
	return func(f result.File, width int) string {
		var out strings.Builder
		for _, grid := range grids(say, f) {
			if err := table.Console(&out, grid, width); err != nil {
				return "" // the end of the run says so
			}
		}
		return out.String()
	}
}

// exitCode is that of an interruption; else the worst of all rows, in this order: a crossed threshold, not as expected,
// a silent control, not sound.
func exitCode(f result.File, ofThresholds int) int {
	switch code := view.ExitCode(f); {
	case f.Run.Interrupted:
		return exitInterrupted
	case ofThresholds != exitOK && (code == exitOK || ofThresholds < code):
		return ofThresholds
	default:
		return code
	}
}

// lines prints and wraps them.
func (s show) lines(all []string) {
	for _, line := range all {
		fmt.Fprintln(s.stdout, progress.Wrap(line, widthOf(s.stdout), 2))
	}
}

// where prints the path of the page.
func (s show) where(dir string) {
	fmt.Fprintln(s.stdout, s.say.Sprintf("report: %s", pagePath(s.say, dir)))
}
