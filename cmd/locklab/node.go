package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/lab"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// newNode is what agents start; people do not.
func newNode() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "node ROLE --config FILE",
		Short:  "Run one node (started by an agent)",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "disk" {
				return diskfault.Exec(args[1:])
			}
			if len(args) > 1 {
				return fmt.Errorf("node %s: %q is too much: want --config alone", args[0], args[1:])
			}
			roles := lab.Roles(nil)
			i := slices.IndexFunc(roles, func(r role.Role) bool { return r.Name == args[0] })
			if i < 0 {
				return fmt.Errorf("node %q: no role (roles: %s)", args[0], strings.Join(lab.RoleNames(), ", "))
			}
			if config == "" {
				return fmt.Errorf("node %s: --config is missing: nodes are started by an agent", args[0])
			}
			return process.Run(cmd.Context(), config, roles[i].Main)
		},
	}
	cmd.SetOut(io.Discard)
	cmd.Flags().StringVar(&config, "config", "", "file that the agent wrote")
	return cmd
}
