package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/provenance"
	"locklab/internal/nearest"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "locklab",
		Short: "Find out what a distributed lock is worth while something is broken",
		Long: `locklab starts real masters, workers and lock servers in two simulated
availability zones, breaks the network and the processes between them, and
counts what goes wrong: rooms that were created twice, overlapping holds, time
without a grant. It ends with a report to decide from.`,
		Example: `  locklab run                              six locks, four scenarios
  locklab run --quick                      the same in short
  locklab run --locks none,redlock --scenarios zone-partition --duration 30s
  locklab run --topology aws-regions --scenarios sea-cable --rate 4
  locklab run --workload mutex --clients 8 --resources 4 --hold 1ms
  locklab run --locks redis --lock-cmd 'mine=python3 my_lock.py --ttl 2'
  locklab why multiphase zone-partition    the first duplicate, as a timeline
  locklab play                             break it by hand, in a browser
  locklab list scenarios
  locklab report reports/runs/A reports/runs/B`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%s; see %s --help", flagError(cmd, err), cmd.CommandPath())
	})
	// Every terminal has 80 columns. The template is cobra's own, which breaks no line.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages |", ".FlagUsagesWrapped 80 |"))
	root.AddCommand(newRun(), newPlay(), newList(), newReport(), newCheck(), newWhy(), newExplore(), newSim(),
		newConform(), newLevels(), newAgent(), newNode(), newVersion())
	for _, cmd := range root.Commands() {
		if check := cmd.Args; check != nil && cmd.Example != "" {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if check(cmd, args) == nil {
					return nil
				}
				got := ""
				if len(args) > 0 {
					got = fmt.Sprintf("%.80q: ", strings.Join(args, " "))
				}
				example, _, _ := strings.Cut(cmd.Example, "\n")
				return fmt.Errorf("%swant %s, such as\n%s", got, cmd.UseLine(), example)
			}
		}
	}
	return root
}

// flagError says what would be right.
func flagError(cmd *cobra.Command, err error) string {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return err.Error() + nearest.Hint("--"+unknown.GetSpecifiedName(), names)
	}
	return err.Error()
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the Go release",
		Example: "  locklab version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			b := provenance.ReadBuild()
			fmt.Fprintf(cmd.OutOrStdout(), "locklab %s, commit %s, %s\n", b.Version, b.Commit, b.Go)
		},
	}
}
