package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/lab"
	"locklab/reports"
	"locklab/reports/result"
)

func newReport() *cobra.Command {
	var out, serve, tag string
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Rebuild a report from its files, or compare several",
		Long: `report reads the result.json and the histories of finished runs and writes
index.html, evidence.html, report.md and results.csv, with the Korean of the first three
as index.ko.html, evidence.ko.html and report.ko.md: into the directory itself when
there is one, into a new one that compares them, without evidence.html, when there are
several. Nothing is run again. To the result of a comparison that was killed it adds
what the histories hold of the run that was under way.

Of a directory that has reports below it, report lists them. With --serve it shows these to browsers instead, until it is interrupted.`,
		Example: `  locklab report reports/runs/2026-11-20T15-04-05
  locklab report reports/runs                            what there is
  locklab report reports/runs/before reports/runs/after --out reports/runs/compared
  locklab report --serve 127.0.0.1:8080 reports/runs`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			say, err := language(tag)
			if err != nil {
				return err
			}
			if serve != "" {
				if len(dirs) != 1 || out != "" {
					return errors.New("--serve: want one directory that has reports below it, and no --out")
				}
				return serveReports(cmd.Context(), serve, dirs[0], cmd.ErrOrStderr())
			}
			if found := finishedReports(say, dirs[0]); len(dirs) == 1 && len(found) > 0 && !hasResult(dirs[0]) {
				printReports(cmd.OutOrStdout(), dirs[0], found)
				return nil
			}
			switch {
			case out != "":
			case len(dirs) == 1:
				out = dirs[0]
			default:
				out = filepath.Join("reports", "runs", "comparison-"+stamp())
			}
			return interruptible(cmd.Context(), func() error {
				for _, dir := range dirs {
					if err := lab.Complete(cmd.Context(), dir); err != nil {
						return err
					}
				}
				if err := reports.Generate(cmd.Context(), dirs, out, lab.Operations); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), reportLine(say, out))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "directory to write to (default: the one that is read; for several, a new one below reports/runs)")
	langFlag(cmd.Flags(), &tag)
	cmd.Flags().StringVar(&serve, "serve", "", "HOST:PORT at which to show the reports below the directory")
	return cmd
}

// hasResult says whether the directory is that of a run.
func hasResult(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, result.FileName))
	return err == nil
}
