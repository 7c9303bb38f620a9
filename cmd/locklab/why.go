package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/internal/nearest"
	"locklab/reports/lang"
	"locklab/reports/why"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

func newWhy() *cobra.Command {
	var tag, dir string
	var cell result.Key
	cmd := &cobra.Command{
		Use:   "why LOCK SCENARIO",
		Short: "Explain one cell of the latest report",
		Long: `why tells in at most 25 lines what happened to a lock under a scenario: its
first violation, or its outage. It takes the latest report that has the two, and
of several repeats the worst. The name of a lock also stands for the only one of
that name that has options.`,
		Example: `  locklab why redlock zone-failure
  locklab why multiphase zone-partition --lang ko
  locklab why redlock holder-kill --report reports/runs/2026-11-20T15-04-05`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			say, err := language(tag)
			if err != nil {
				return err
			}
			cell.Lock, cell.Scenario = args[0], args[1]
			at, found, err := latestCell(dir, cell, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return explainCell(cmd.Context(), cmd.OutOrStdout(), say, at, found)
		},
	}
	cmd.Flags().StringVar(&dir, "report", filepath.Join("reports", "runs"), "directory of a report, or of several")
	cmd.Flags().StringVar(&cell.Workload, "workload", "", "of a report with several: which")
	langFlag(cmd.Flags(), &tag, "what is printed")
	return cmd
}

// latestCell finds the cell in the report below a directory whose run began last, of those that have it. A report that
// cannot be read gets a warning.
func latestCell(below string, k result.Key, stderr io.Writer) (dir string, cell result.Cell, err error) {
	var began time.Time
	var cells []result.Cell
	var there []string // in any report
	_ = fs.WalkDir(os.DirFS(below), ".", func(name string, d fs.DirEntry, _ error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		at := filepath.Join(below, name)
		f, err := result.Read(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			fmt.Fprintf(stderr, "locklab: skipped: %v\n", err)
		}
		for _, c := range f.Cells() {
			there = append(there, c.Lock+" "+c.Scenario)
		}
		if some := matching(f.Cells(), k); len(some) > 0 && !f.Run.Started.Before(began) {
			dir, cells, began = at, some, f.Run.Started
		}
		return fs.SkipDir // a report has none in it
	})
	var locks []string
	for _, c := range cells {
		if !slices.Contains(locks, c.Lock) {
			locks = append(locks, c.Lock)
		}
	}
	switch {
	case len(locks) == 0:
		return "", cell, fmt.Errorf("no report below %s has %s under %s: want a lock and a scenario that were run, "+
			"or another --report%s", below, k.Lock, k.Scenario, nearest.Hint(k.Lock+" "+k.Scenario, there))
	case len(locks) > 1:
		return "", cell, fmt.Errorf("%s has several of %s under %s: want one of %s", dir, k.Lock, k.Scenario,
			strings.Join(locks, ", "))
	}
	return dir, cells[0], nil
}

// matching is the cell with a key, or else those of locks of that name with options.
func matching(all []result.Cell, k result.Key) (some []result.Cell) {
	for _, c := range all {
		name, _, _ := strings.Cut(c.Lock, ":")
		switch {
		case c.Scenario != k.Scenario, k.Workload != "" && c.Workload != k.Workload:
		case c.Lock == k.Lock:
			return []result.Cell{c}
		case name == k.Lock:
			some = append(some, c)
		}
	}
	return some
}

func explainCell(ctx context.Context, w io.Writer, say *lang.Lang, dir string, cell result.Cell) error {
	row := cell.Worst()
	o := why.Options{Width: widthOf(w)}
	if n := len(cell.Rows); n > 1 {
		o.Of = say.Sprintf(", run %d of %d", row.Repeat, n)
	}
	var run *record.Run // nil where the history is lost
	if row.History != "" {
		path := filepath.Join(dir, filepath.FromSlash(row.History))
		read, err := record.Read(ctx, path)
		if err == nil {
			run, o.More = read, "locklab check "+path
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return why.Write(w, say, row, run, o)
}
