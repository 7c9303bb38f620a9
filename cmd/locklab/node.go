package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/nodebody"
	"locklab/nodes/process"
)

// newNode is what agents start; people do not.
func newNode() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "node ROLE --config FILE",
		Short:  "Run one node (started by an agent)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "watchdog" {
				process.Watchdog(os.Stdin, process.KillGroup)
				return nil
			}
			body, known := nodebody.Bodies()[args[0]]
			if !known {
				return fmt.Errorf("node %q: unknown role (known: %s)", args[0], strings.Join(slices.Sorted(maps.Keys(nodebody.Bodies())), ", "))
			}
			if config == "" {
				return fmt.Errorf("node %s: --config is missing: nodes are started by an agent", args[0])
			}
			return process.Run(cmd.Context(), config, body)
		},
	}
	cmd.SetOut(io.Discard)
	cmd.Flags().StringVar(&config, "config", "", "file that the agent wrote")
	return cmd
}
