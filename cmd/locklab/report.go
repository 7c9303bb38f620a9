package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/threshold"
	"locklab/reports/compare"
	"locklab/workloads/result"
)

func newReport() *cobra.Command {
	var out, serve, tag string
	var failOn []string
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Rebuild a report from its files, or compare several",
		Long: `report reads the result.json and the histories of finished runs and writes
index.html, glossary.html, report.md and results.csv, with their Korean, into
the directory itself, or compares several into a new directory. Nothing is run
again. To the result of a comparison that was killed it adds what the histories
hold of the run that was under way.

Of several, the first is what the others are compared with. A difference is
claimed where both have repeats. With --fail-on the exit code is 2 if a
threshold is crossed, of several by any but the first, and 4 if a difference is
beyond one that is not shown. It is 1 if one of them has no row of the first:
the same lock, options, scenario and workload.

With --serve it shows the reports below a directory to browsers, until it is
interrupted.`,
		Example: `  locklab report reports/runs/2026-11-20T15-04-05
  locklab report reports/runs/before reports/runs/after --out compared
  locklab report before after --fail-on 'request_p99_ms>+10%'
  locklab report --serve 127.0.0.1:8080 reports/runs`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			say, err := language(tag)
			if err != nil {
				return err
			}
			told := show{say: say, stdout: cmd.OutOrStdout()}
			if serve != "" && (len(dirs) > 1 || out != "") {
				return errors.New("--serve: want one directory that has reports below it, and no --out")
			}
			if serve != "" {
				return serveReports(cmd.Context(), serve, dirs[0], cmd.ErrOrStderr())
			}
			thresholds, err := threshold.ParseAll(failOn, len(dirs) > 1,
				"want two directories or more, the first of which is the baseline")
			if err != nil {
				return err
			}
			switch {
			case out != "" && hasResult(out) && (len(dirs) > 1 || filepath.Clean(out) != filepath.Clean(dirs[0])):
				return fmt.Errorf("--out %s: it has a run's own report, which would be written over: want another directory", out)
			case out == "" && len(dirs) == 1:
				out = dirs[0]
			case out == "":
				if out, err = freshDir(filepath.Join("reports", "runs"), "comparison-"+stamp()); err != nil {
					return named("make a directory for the comparison", err)
				}
				defer func() { _ = os.Remove(out) }() // if nothing came into it
			}
			return told.report(cmd.Context(), dirs, out, thresholds)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&out, "out", "",
		"directory to write to (default: the one that is read; for several, a new one below reports/runs)")
	fl.StringArrayVar(&failOn, "fail-on", nil, "exit 2 if a figure crosses a threshold, of several directories one of "+
		"any but the first; with a sign, a difference from the first, such as 'request_p99_ms>+10%'")
	langFlag(fl, &tag, ofSummary)
	fl.StringVar(&serve, "serve", "", "HOST:PORT at which to show the reports below the directory")
	return cmd
}

// report rebuilds the report of one directory, or compares several.
func (s show) report(ctx context.Context, dirs []string, out string, thresholds []threshold.Threshold) (err error) {
	files := make([]result.File, len(dirs))
	for i, dir := range dirs {
		if err := lab.Complete(ctx, dir); err != nil {
			return err
		}
		if files[i], err = result.Read(filepath.Join(dir, result.FileName)); err != nil {
			return err
		}
	}
	names := compare.Names(dirs)
	if len(dirs) > 1 {
		err = s.compare(files, names, out)
	} else if err = writeReport(ctx, files[0], dirs[0], out); err == nil {
		s.where(out)
	}
	if err != nil {
		return err
	}
	if i := compare.Apart(files); i > 0 {
		return fmt.Errorf("nothing in common: no row of %s is in %s: want the same lock, options, scenario and workload in "+
			"both", dirs[0], dirs[i])
	}
	crossed, as := threshold.Gate(files, names, thresholds)
	s.lines(crossed)
	return exitWith(as.ExitCode())
}

// compare writes a comparison of runs and tells what it came to.
func (s show) compare(files []result.File, names []string, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return err
	}
	if err := compare.Write(out, files, names); err != nil {
		return err
	}
	s.lines(compare.Said(s.say, files, names, compare.Runs(files)))
	s.where(out)
	return nil
}
