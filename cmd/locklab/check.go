package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"locklab/reports/why"
	"locklab/workloads/check/judge"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

func newCheck() *cobra.Command {
	var tag string
	var explain int
	cmd := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a saved history",
		Long: `check reads one history (JSON lines, gzipped or not) and judges it as the
comparison did: by what the scenario expects of the lock, which the history
says. Of a history that does not say it, safety is expected.

Exit codes: 0 as expected, or nothing is expected of the lock; 2 not as
expected; 4 the history cannot decide, or a control did not fire; 1 it cannot
be read.`,
		Example: `  locklab check reports/runs/A/histories/redlock/baseline.matchmaking.1.jsonl
  locklab check --explain 1 reports/runs/A/histories/none/baseline.mutex.1.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func() error { return runCheck(cmd, tag, args[0], explain) })
		},
	}
	cmd.Flags().IntVar(&explain, "explain", 0, "number of a violation or outage in the list, to tell what happened around it")
	langFlag(cmd.Flags(), &tag, "what is printed")
	return cmd
}

func runCheck(cmd *cobra.Command, tag, path string, number int) error {
	say, err := language(tag)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("explain") && number < 1 {
		return fmt.Errorf("--explain %d: want a number of the list, from 1", number)
	}
	run, err := record.Read(cmd.Context(), path)
	if err != nil {
		return err
	}
	row := judge.Run(run)
	out := cmd.OutOrStdout()
	if number > 0 {
		err = why.Write(out, say, &row, run, why.Options{Number: number, Width: widthOf(out)})
		if err != nil {
			err = fmt.Errorf("--explain: %w", err)
		}
	} else {
		err = why.Sheet(out, say, path, &row, run, widthOf(out))
	}
	switch as := row.Verdict.As; {
	case err != nil:
		return err
	case as == result.NotAsExpected:
		return &exitError{code: exitViolated}
	case as == result.Silent || as == result.Unsound:
		return &exitError{code: exitInconclusive}
	}
	return nil
}
