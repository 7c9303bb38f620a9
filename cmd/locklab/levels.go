package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/suite"
	"locklab/reports/table"
	"locklab/workloads/result"
)

func newLevels() *cobra.Command {
	return &cobra.Command{
		Use:   "levels DIR",
		Short: "Tell which named anomalies each lock and library has shown",
		Long: `levels reads a result of the suite levels and prints a table: a row for each
lock, a column for each anomaly.

  ✗     shown: the command below the table tries it again
  ✓ n   not shown in n tries, where the control was shown; no proof
  ·     no run of it is in the result, or applies to the lock
  ?     undecided: no run was sound, or the control showed nothing`,
		Example: `  locklab run --suite levels --repeat 3 --out levels && locklab levels levels`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := result.Read(args[0])
			if err != nil {
				return err
			}
			s, err := suite.Load("levels")
			if err != nil {
				return err
			}
			levels, again := levelsOf(s.Anomalies, f)
			out := cmd.OutOrStdout()
			if err := table.Console(out, levels, widthOf(out)); err != nil {
				return err
			}
			_, err = io.WriteString(out, again)
			return err
		},
	}
}

// levelsOf makes the table, and lists the commands that try again each anomaly that was shown.
func levelsOf(anomalies []suite.Anomaly, f result.File) (levels table.Table, again string) {
	titles := []string{"=lock"}
	for _, a := range anomalies {
		titles = append(titles, a.Letter)
	}
	levels.Columns = table.Heads(titles...)
	var text strings.Builder
	for _, a := range anomalies {
		fmt.Fprintf(&text, "%s  %s; control: %s\n", a.Letter, a.Name, a.Control)
	}
	seen := map[string]bool{}
	for _, row := range f.Rows {
		if seen[row.Lock] {
			continue
		}
		seen[row.Lock] = true
		cells := table.Row(row.Lock)
		for i, l := range suite.Levels(anomalies, f, row.Lock) {
			cells = append(cells, table.Cell{Text: l.String()})
			for _, by := range l.By {
				fmt.Fprintf(&text, "%s %s  locklab run --workload %s --locks %s --scenarios %s  (%d of %d)\n",
					row.Lock, anomalies[i].Letter, by.Workload, by.Lock, by.Scenario, by.Shown, by.Tries)
			}
		}
		levels.Rows = append(levels.Rows, cells)
	}
	return levels, "\n" + text.String()
}
