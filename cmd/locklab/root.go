package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/facts"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "locklab",
		Short: "Find out what a distributed lock is worth while something is broken",
		Long: `locklab starts real masters, workers and lock servers in two simulated
availability zones, breaks the network and the processes between them, and counts
what goes wrong: rooms that were created twice, overlapping holds, time without a
grant. It ends with a report to decide from.`,
		Example: `  locklab run                              five locks, four scenarios, under four minutes
  locklab run --quick                      the same in short, under one minute
  locklab run --locks none,redlock --scenarios zone-partition --duration 30s
  locklab list scenarios
  locklab report reports/runs/A reports/runs/B`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%s: %w (see %s --help)", cmd.CommandPath(), err, cmd.CommandPath())
	})
	root.AddCommand(newRun(), newList(), newReport(), newCheck(), newExplore(), newSim(), newAgent(), newNode(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go release",
		Example: "  locklab version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			b := facts.ReadBuild()
			fmt.Fprintf(cmd.OutOrStdout(), "locklab %s, commit %s, %s\n", b.Version, b.Commit, b.Go)
		},
	}
}
