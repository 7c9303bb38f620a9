package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"locklab/reports/why"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/check/visualize"
	"locklab/workloads/result"
)

func newCheck() *cobra.Command {
	var tag, picture string
	var explain int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a saved history",
		Long: `check reads one history (JSON lines, gzipped or not) and judges it as the
comparison did: by what the scenario expects of the lock, which the history
says. Where it does not, violations are told, and the exit code stays 0.

Exit codes: 0 as expected, or nothing is expected of the lock; 2 not as
expected; 4 the history cannot decide, or a control did not fire; 1 it cannot
be read.`,
		Example: `  locklab check reports/runs/A/histories/redlock/baseline.matchmaking.1.jsonl
  locklab check --explain 1 reports/runs/A/histories/none/baseline.mutex.1.jsonl
  locklab check --visualize a.html histories/none/baseline.mutex.1.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			say, err := language(tag)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("explain") && explain < 1 {
				return fmt.Errorf("--explain %d: want a number of the list, from 1", explain)
			}
			run, err := record.Read(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			row := check.Judge(run)
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = writeJSON(out, row)
			case explain > 0:
				err = named("--explain", why.Write(out, say, &row, run, why.Options{Number: explain, Width: widthOf(out)}))
			default:
				err = why.Sheet(out, say, args[0], &row, run, widthOf(out))
			}
			if err == nil && picture != "" {
				err = named("--visualize", draw(picture, run, &row))
			}
			switch as := row.Verdict.As; {
			case err != nil:
				return err
			case as == result.NotAsExpected:
				return exitWith(exitViolated)
			case as == result.Silent || as == result.Unsound:
				return exitWith(exitInconclusive)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&explain, "explain", 0,
		"number of a violation or outage in the list, to tell what happened around it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the row of result.json instead")
	cmd.Flags().StringVar(&picture, "visualize", "", "HTML file to draw the holds around the first violation into")
	langFlag(cmd.Flags(), &tag, "what is printed")
	return cmd
}

// draw draws the holds around the first violation into a file.
func draw(target string, run *record.Run, row *result.Row) (err error) {
	if len(row.Violations) == 0 {
		return errors.New("nothing was violated, so there is nothing to draw")
	}
	const margin = int64(50 * time.Millisecond)
	v := row.Violations[0]
	at := run.Measure + int64(v.AtMS*1e6)
	out, err := os.Create(target) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = visualize.Write(out, run, v.Resource, record.Span{From: at - margin, To: at + margin})
	return err
}
