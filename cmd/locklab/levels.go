package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/suite"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// The lines between which a page has the table of levels.
const (
	levelsBegin = "<!-- levels: made by locklab levels --page -->\n"
	levelsEnd   = "<!-- end of levels -->\n"
)

func newLevels() *cobra.Command {
	var page string
	cmd := &cobra.Command{
		Use:   "levels DIR",
		Short: "Tell which named anomalies each lock and library has shown",
		Long: `levels reads a result of the suite levels and prints a table: a row for each
lock, a column for each anomaly.

  ✗     shown: the command below the table tries it again
  ✓ n   not shown in n tries, where the control was shown; no proof
  ·     no run of it applies to the lock
  ?     undecided: no run was sound, or the control showed nothing`,
		Example: `  locklab run --suite levels --repeat 3 --out levels && locklab levels levels
  locklab levels levels --page reports/levels/README.md`,
		Args: cobra.ExactArgs(1),
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
			if page != "" {
				return between(page, levelsBegin, levelsEnd, func(w io.Writer) error {
					if err := table.Markdown(w, levels); err != nil {
						return err
					}
					_, err := io.WriteString(w, again)
					return err
				})
			}
			out := cmd.OutOrStdout()
			if err := table.Console(out, levels, widthOf(out)); err != nil {
				return err
			}
			_, err = io.WriteString(out, again)
			return err
		},
	}
	cmd.Flags().StringVar(&page, "page", "", "write the table into this page of Markdown")
	return cmd
}

// levelsOf is the table, and how to see again what was shown.
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
					row.Lock, anomalies[i].Letter, by.Workload, by.Lock, by.Scenario, l.Shown, l.Tries)
			}
		}
		levels.Rows = append(levels.Rows, cells)
	}
	return levels, "\n" + text.String()
}

// between replaces the text between two lines of a page.
func between(page, begin, end string, write func(io.Writer) error) error {
	text, err := os.ReadFile(page) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s: want a line %q and below it a line %q, between which the table is written",
			page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	var made strings.Builder
	if err := write(&made); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+made.String()+"\n"+end+after),
		0o644) //nolint:gosec // meant to be read by others
}
