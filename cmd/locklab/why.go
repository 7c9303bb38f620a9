package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"locklab/internal/nearest"
	"locklab/reports/lang"
	"locklab/reports/why"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

func newWhy() *cobra.Command {
	var tag, dir, workload string
	cmd := &cobra.Command{
		Use:   "why LOCK SCENARIO",
		Short: "Explain one cell of the latest report",
		Long: `why tells in at most 25 lines what happened to a lock under a scenario in the
latest report below reports/runs: its first violation, or its outage. Of several
repeats it takes the worst.`,
		Example: `  locklab why redlock zone-failure
  locklab why multiphase zone-partition --lang ko
  locklab why redlock holder-kill --report reports/runs/2026-11-20T15-04-05`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			say, err := language(tag)
			if err != nil {
				return err
			}
			if dir == "" {
				if dir, err = latestReport(filepath.Join("reports", "runs"), cmd.ErrOrStderr()); err != nil {
					return err
				}
			}
			return explainCell(cmd.Context(), cmd.OutOrStdout(), say, dir, args[0], args[1], workload)
		},
	}
	cmd.Flags().StringVar(&dir, "report", "", "directory of a report (default: the latest below reports/runs)")
	cmd.Flags().StringVar(&workload, "workload", "", "of a report with several: which")
	langFlag(cmd.Flags(), &tag, "what is printed")
	return cmd
}

// latestReport is the directory whose run began last. A report that cannot be read gets a warning.
func latestReport(parent string, stderr io.Writer) (latest string, err error) {
	paths, _ := filepath.Glob(filepath.Join(parent, "*", result.FileName)) // there may be none
	var at time.Time
	for _, path := range paths {
		f, err := result.Read(path)
		if err != nil {
			fmt.Fprintf(stderr, "locklab: skipped: %v\n", err)
		} else if latest == "" || f.Run.Started.After(at) {
			latest, at = filepath.Dir(path), f.Run.Started
		}
	}
	if latest == "" {
		return "", fmt.Errorf("there is no report below %s: want one that locklab run has written, or --report DIR", parent)
	}
	return latest, nil
}

func explainCell(ctx context.Context, w io.Writer, say *lang.Lang, dir, lock, scenario, workload string) error {
	f, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return err
	}
	cells := f.Cells()
	i := slices.IndexFunc(cells, func(c result.Cell) bool {
		return c.Lock == lock && c.Scenario == scenario && (workload == "" || c.Workload == workload)
	})
	if i < 0 {
		var there []string
		for _, c := range cells {
			there = append(there, c.Lock+" "+c.Scenario)
		}
		return fmt.Errorf("%s has no %s under %s%s", dir, lock, scenario, nearest.Hint(lock+" "+scenario, there))
	}
	row := cells[i].Worst()
	o := why.Options{Width: widthOf(w)}
	if n := len(cells[i].Rows); n > 1 {
		o.Of = say.Sprintf(", run %d of %d", row.Repeat, n)
	}
	var run *record.Run // nil where the history is lost
	if row.History != "" {
		path := filepath.Join(dir, filepath.FromSlash(row.History))
		if run, err = record.Read(ctx, path); errors.Is(err, fs.ErrNotExist) {
			run = nil
		} else if err != nil {
			return err
		} else {
			o.More = "locklab check " + path
		}
	}
	return why.Write(w, say, row, run, o)
}
