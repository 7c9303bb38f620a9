package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed completion.bash
var completionOfBash string

// addCompletion adds the scripts of all shells, of which that of bash is our own: the usual one
// wants a package beside bash, and writes over what stands before the = or : of a value.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if all, _, err := root.Find([]string{"completion"}); err == nil {
		all.Args = nil // it says better what it wants
		all.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return fmt.Errorf("completion %.80q: want %s", args[0], strings.Join(shells, ", "))
		}
	}
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return
	}
	bash.ResetFlags()
	bash.Long = `Generate the autocompletion script for bash, which needs nothing else.

In the shell that you are in:

	source <(locklab completion bash)

In every new one of yours:

	locklab completion bash > ~/.local/share/bash-completion/completions/locklab

where the package bash-completion is installed, or else the first line in
~/.bashrc.`
	bash.RunE = func(cmd *cobra.Command, _ []string) error {
		_, err := io.WriteString(cmd.OutOrStdout(), completionOfBash)
		return err
	}
}
