package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/locks/program"
)

func newConform() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "conform 'COMMAND'",
		Short: "Say what is wrong with a lock of yours, rule by rule",
		Long: `conform starts a program that speaks the protocol of locks/program/README.md,
with the servers that it asks for, and looks at one rule after the other: what
a grant promises, deadlines, waiters that give up, a crash, servers out of
reach.

It takes a minute or so. A rule that nothing was found against is not proven:
what the lock does under faults is for locklab run --lock-cmd to see.

Exit codes: 0 nothing was found; 2 something was; 1 the program cannot be
started, or its servers.`,
		Example: `  locklab conform 'python3 redis_lock.py --ttl-ms 1000'
  locklab conform --verbose ./client                 with its standard error`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			said := io.Discard
			if verbose {
				said = cmd.ErrOrStderr()
			}
			return interruptible(cmd.Context(), func() error { return conform(cmd.Context(), args[0], cmd.OutOrStdout(), said) })
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show what the program writes to its standard error")
	return cmd
}

func conform(ctx context.Context, text string, stdout, said io.Writer) (returned error) {
	command, err := program.ParseCommand(text)
	if err != nil {
		return err
	}
	subject := program.Subject{Command: command, Stderr: said}
	hello, _ := program.Describe(ctx, command, said) // what is wrong with it the rules say
	lock, err := catalog.OfProgram("program", command, hello)
	if err != nil {
		return err
	}
	if len(lock.Servers) > 0 {
		servers, err := lab.StartServers(ctx, lock, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer func() { returned = errors.Join(returned, servers.Close()) }()
		subject.Servers, subject.Cut = servers.Reached, servers.Cut
	}
	rules, broken := 0, 0
	err = program.Conform(ctx, subject, func(f program.Finding) {
		rules++
		switch {
		case f.Err != nil:
			broken++
			fmt.Fprintf(stdout, "✗ %-16s it %s\n  %-16s %v\n", f.Rule, f.Demand, "", f.Err)
		case f.Unchecked != "":
			fmt.Fprintf(stdout, "- %-16s it %s\n  %-16s not checked: %s\n", f.Rule, f.Demand, "", f.Unchecked)
		default:
			fmt.Fprintf(stdout, "✓ %-16s it %s\n", f.Rule, f.Demand)
		}
	})
	if err != nil {
		return err
	}
	if broken > 0 {
		fmt.Fprintf(stdout, "%d of %d rules are broken\n", broken, rules)
		return &exitError{code: exitViolated}
	}
	fmt.Fprintf(stdout, "nothing was found against it\n")
	return nil
}
