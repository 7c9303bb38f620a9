package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/cluster"
	"locklab/locks/adapters"
	"locklab/locks/program"
)

func newConform() *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "conform 'COMMAND'|LIBRARY",
		Short: "Say what is wrong with a lock program, rule by rule",
		Long: `conform starts a program that speaks the protocol of locks/program/README.md,
with the servers that it asks for, and looks at one rule after the other: what
a grant promises, deadlines, waiters that give up, a crash, servers out of
reach.

It takes a minute or so. A rule that nothing was found against is not proven:
what the lock does under faults is for locklab run --lock-cmd to see.

After a program that ends by itself nothing more is looked at: what it wrote to
its standard error is shown.

Exit codes: 0 nothing was found; 2 something was; 1 the program cannot be
started, or its servers.`,
		Example: `  locklab conform 'python3 redis_lock.py --ttl-ms 1000'
  locklab conform --verbose ./client                 with its standard error
  locklab conform redis-py                           of locklab list locks`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			said := io.Discard
			if verbose {
				said = cmd.ErrOrStderr()
			}
			return conform(cmd.Context(), args[0], cmd.OutOrStdout(), said)
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show what the program writes to its standard error")
	return cmd
}

func conform(ctx context.Context, text string, stdout, said io.Writer) (returned error) {
	if a, is := adapters.Find(text); is {
		words, err := a.Command()
		if err != nil {
			return err
		}
		text = program.Command{Args: words}.String()
	}
	command, err := program.ParseCommand(text)
	if err != nil {
		return err
	}
	stop := func() error { return nil }
	defer func() { returned = errors.Join(returned, stop()) }()
	subject := program.Subject{Command: command, Stderr: said}
	subject.Serve = func(ctx context.Context, hello program.Hello) (program.Access, error) {
		lock, err := catalog.OfProgram("program", command, hello)
		if err != nil || len(lock.Servers) == 0 {
			return program.Access{}, err
		}
		servers, err := cluster.StartServers(ctx, lock, slog.New(slog.DiscardHandler))
		if err != nil {
			return program.Access{}, err
		}
		stop = servers.Close
		return program.Access{Servers: servers.Reached, Cut: servers.Cut}, nil
	}
	rules, broken, died := 0, 0, false
	err = program.Conform(ctx, subject, func(f program.Finding) {
		rules++
		mark, text, more := "✓", "it "+f.Demand, ""
		switch {
		case f.Died:
			died = true
			mark = "✗"
			text, more, _ = strings.Cut(f.Err.Error(), "\n")
		case f.Err != nil:
			broken++
			mark, more = "✗", f.Err.Error()
		case f.Unchecked != "":
			mark, more = "-", "not checked: "+f.Unchecked
		}
		if more != "" {
			text += "\n" + more
		}
		fmt.Fprintf(stdout, "%s %-16s %s\n", mark, f.Rule, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 19)))
	})
	switch {
	case err != nil:
		return err
	case died:
		fmt.Fprintln(stdout, "neither this rule nor any after it was judged: the program has to live first")
		return exitWith(exitViolated)
	case broken > 0:
		fmt.Fprintf(stdout, "broken: %d of %d rules\n", broken, rules)
		return exitWith(exitViolated)
	}
	fmt.Fprintln(stdout, "nothing was found against it")
	return nil
}
